// What the named kernels make of each other's rows.
#include "properties/matrix/matrix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"
#include "oracle/decode/decode.h"
#include "oracle/expect.h"
#include "properties/layout_pool.h"

namespace mlafuzz {
namespace {

const Matrix& Named() {
  static const auto* matrix =
      new Matrix(BuildMatrix(NamedParties(), MatrixOptions()));
  return *matrix;
}

const Cell& CellOf(const std::string& writer, const std::string& gather,
                   const std::string& reader) {
  for (const Cell& cell : Named().cells) {
    if (cell.writer == writer && cell.gather == gather &&
        cell.reader == reader) {
      return cell;
    }
  }
  ADD_FAILURE() << writer << " " << gather << " " << reader;
  static const auto* none = new Cell();
  return *none;
}

void Expect(const std::string& writer, const std::string& gather,
            const std::string& reader, CellVerdict verdict,
            const std::string& field = "") {
  const Cell& cell = CellOf(writer, gather, reader);
  EXPECT_STREQ(CellVerdictName(cell.verdict), CellVerdictName(verdict))
      << writer << " " << gather << " " << reader << ": " << cell.reason;
  EXPECT_EQ(cell.field, field) << writer << " " << gather << " " << reader;
}

constexpr CellVerdict kAgree = CellVerdict::kAgree;
constexpr CellVerdict kDisagree = CellVerdict::kDisagree;
constexpr CellVerdict kRefused = CellVerdict::kRefused;

// vLLM #54563.
TEST(Matrix, TheFoundingPair) {
  Expect("native-raw", kNobody, "dsv3_2", kDisagree, "qk.scale_rule");
  Expect("native-raw", kNobody, "glm_nsa", kAgree);
  Expect("native-pow2", kNobody, "dsv3_2", kAgree);
  Expect("native-pow2", kNobody, "glm_nsa", kAgree);
}

TEST(Matrix, FlashMlaReadsPowersOfTwo) {
  Expect("native-raw", kNobody, "flashmla-sm90", kDisagree,
         "qk.scale_rule and v.scale_rule");
  Expect("native-raw", kNobody, "flashmla-sm100", kDisagree,
         "qk.scale_rule and v.scale_rule");
  for (const char* writer : {"native-pow2", "triton-pow2", "flashmla-packer"}) {
    Expect(writer, kNobody, "flashmla-sm90", kAgree);
    Expect(writer, kNobody, "flashmla-sm100", kAgree);
  }
}

// vLLM #55277: the tail is the writer's to zero, or the gather's.
TEST(Matrix, StaleTail) {
  for (const char* gather : {"upconvert-old", "upconvert-new"}) {
    Expect("native-nope-stale-tail", gather, kNobody, kDisagree,
           "writer.tail or gather.nope_tail");
    Expect("native-raw-nope", gather, kNobody, kAgree);
    Expect("nope-shim", gather, kNobody, kAgree);
  }
  Expect("native-nope-stale-tail", "upconvert-nope", kNobody, kAgree);
  // Readers that take rope.
  Expect("native-nope-stale-tail", kNobody, "glm_nsa", kDisagree,
         "writer.tail");
  Expect("native-raw-nope", kNobody, "glm_nsa", kAgree);
  Expect("nope-shim", kNobody, "glm_nsa", kAgree);
  // A reader that takes none.
  Expect("native-nope-stale-tail", kNobody, "glm53_nope", kAgree);
  Expect("native-raw", kNobody, "glm53_nope", kRefused, "decode.pe_dim");
}

// A UE8M0 scale of an Inf is byte 255, beside which vLLM's insert stores 0 and
// -448: NaN by the format, and -Inf to who takes it for 2^128. Who stores codes
// of NaN there is read alike by both.
TEST(Matrix, ScaleByte255) {
  for (const char* gather : {"dsv4-gather", "flashinfer-unpacker-584"}) {
    Expect("dsv4-cuda", gather, kNobody, kDisagree, "gather.ue8m0_last");
    Expect("dsv4-triton", gather, kNobody, kDisagree, "gather.ue8m0_last");
    Expect("flashmla-packer-584", gather, kNobody, kAgree);
    Expect("flashinfer-packer-584", gather, kNobody, kAgree);
  }
  for (const char* writer : {"dsv4-cuda", "dsv4-triton", "flashmla-packer-584",
                             "flashinfer-packer-584"}) {
    Expect(writer, "flashmla-unpacker-584", kNobody, kAgree);
  }
  Expect("dsv4_1", "dsv4_1-unpacker", kNobody, kAgree);
}

// A decode makes NaN of the logit of a row with byte 255, and of all its
// output, however its values take that byte.
TEST(Matrix, DecodesOfDeepSeekV4) {
  for (const char* writer : {"dsv4-cuda", "dsv4-triton", "flashmla-packer-584",
                             "flashinfer-packer-584"}) {
    for (const char* reader :
         {"dsv4-main", "dsv4-main-extra", "flashmla-sm90-584"}) {
      Expect(writer, kNobody, reader, kAgree);
      const Cell& cell = CellOf(writer, kNobody, reader);
      std::vector<std::string> fields;
      for (const auto& [field, shown] : cell.informative) {
        fields.push_back(field);
      }
      EXPECT_EQ(fields,
                (std::vector<std::string>{"qk.scale_rule", "v.scale_rule",
                                          "decode.rope_values"}))
          << writer << " " << reader;
    }
    EXPECT_TRUE(absl::StrContains(
        CellOf(writer, kNobody, "dsv4-main").reason,
        "v.ue8m0_last is LAST_IS_INF: the logit of a row with byte 255 is NaN"))
        << CellOf(writer, kNobody, "dsv4-main").reason;
  }
}

// Readers of a layout are computed where the oracle decodes it.
TEST(Matrix, EveryDecodedLayoutIsComputed) {
  for (const TokenLayout& token : TokenLayouts()) {
    EXPECT_EQ(WhyNotComputed(*FormatOfLayout(token.layout),
                             PartyRole::kReader) == nullptr,
              IsDecoded(token.layout))
        << token.name;
  }
}

TEST(Matrix, NamedCellsAreComputed) {
  for (const Cell& cell : Named().cells) {
    EXPECT_NE(cell.verdict, CellVerdict::kNotComputed)
        << cell.writer << " " << cell.gather << " " << cell.reader << ": "
        << cell.reason;
  }
}

TEST(Matrix, RowsOf528) {
  Expect("flashinfer-packer-528", "nope-row-gather", kNobody, kAgree);
  Expect("flashinfer-packer-528", kNobody, "glm53_nope-528", kAgree);
  Expect("dsv4_1", "nope-row-gather", kNobody, kRefused, "layout");
}

// As recorded: codes from the boundary below where pages begin at no multiple
// of 16 bytes, scales by the stride of the codes.
TEST(Matrix, IndexerGather) {
  for (const char* writer : {"indexer-fp32", "indexer-ue8m0"}) {
    Expect(writer, "indexer-gather", kNobody, kDisagree,
           "gather.code_loads and gather.scale_rows");
  }
}

// A right gather of each layout agrees with each of its writers, and each rule
// in question had cases that would have shown it.
TEST(Matrix, RightGathersOfEachLayout) {
  for (const Party& party : AllParties()) {
    if (party.role != PartyRole::kWriter) continue;
    const MatrixParty writer = ToMatrixParty(party);
    const Layout layout = writer.contract.layout();
    const Chain chain{writer.contract, BuiltinContract(layout), Kernel::kGather,
                      writer.rope};
    if (Deviations(chain).size() > 0) continue;  // a stale tail
    Case first;
    const Cell cell = JudgeChain(chain, MatrixOptions(), &first);
    EXPECT_EQ(cell.verdict, kAgree) << party.name << ": " << cell.reason;
    EXPECT_EQ(cell.cases, MatrixOptions().cases) << party.name;
    EXPECT_GE(cell.informative.size(), 2u) << party.name;
  }
}

// One label names two layouts.
TEST(Matrix, LabelCollision) {
  for (const auto& [writer, reader] : std::map<std::string, std::string>{
           {"dsv4-cuda", "dsv3_2"}, {"native-raw", "dsv4-main"}}) {
    Expect(writer, kNobody, reader, kRefused, "layout");
    const std::string& reason = CellOf(writer, kNobody, reader).reason;
    EXPECT_TRUE(absl::StrContains(reason, "row656")) << reason;
    EXPECT_TRUE(absl::StrContains(reason, "footer584")) << reason;
    EXPECT_TRUE(absl::StrContains(reason, "both are called \"fp8_ds_mla\""))
        << reason;
  }
}

TEST(Matrix, EveryTripleIsACell) {
  std::map<PartyRole, std::size_t> count;
  for (const MatrixParty& party : Named().parties) ++count[party.role];
  const std::size_t readers = count[PartyRole::kReader];
  const std::size_t gathers = count[PartyRole::kGather];
  EXPECT_EQ(Named().cells.size(),
            count[PartyRole::kWriter] *
                ((readers + 1) * (gathers + 1) - 1));  // not none and none
}

TEST(Matrix, NoAgreementWithoutPower) {
  for (const Cell& cell : Named().cells) {
    if (cell.verdict != kAgree) continue;
    EXPECT_FALSE(cell.informative.empty());
    for (const auto& [field, shown] : cell.informative) {
      EXPECT_GT(shown, 0) << cell.writer << " " << cell.reader << " " << field;
    }
  }
}

TEST(Matrix, NotComputedSaysWhy) {
  for (const Cell& cell : Named().cells) {
    EXPECT_NE(cell.reason, "") << cell.writer << " " << cell.reader;
    if (cell.verdict == CellVerdict::kNotComputed) {
      EXPECT_EQ(cell.field, "layout") << cell.writer << " " << cell.reader;
    }
  }
}

TEST(Matrix, EveryDisagreementHasAWitness) {
  for (const Cell& cell : Named().cells) {
    EXPECT_EQ(cell.verdict == kDisagree, !cell.witness.empty())
        << cell.writer << " " << cell.gather << " " << cell.reader;
  }
}

Chain RawRowsReadBy(const Contract& reader, Kernel kernel) {
  return {PartyContract(*FindParty("native-raw")), reader, kernel,
          Rope::kWritten};
}

bool IsMeaning(const std::string& field, const Chain& chain) {
  for (const MeaningRule& rule : MeaningRules(chain)) {
    if (rule.field == field) return true;
  }
  return false;
}

// Whatever a reader does to raw scales or codes shows, under that rule's name;
// whatever else it promises its caller is no disagreement about rows.
TEST(JudgeChain, TellsMeaningFromManners) {
  for (const Kernel kernel : {Kernel::kGather, Kernel::kDecode}) {
    for (const Neighbour& n : Neighbours(BuiltinContract(), kernel)) {
      Case first;
      const Chain chain = RawRowsReadBy(n.contract, kernel);
      const Cell cell = JudgeChain(chain, MatrixOptions(), &first);
      if (IsMeaning(n.field, chain)) {
        EXPECT_EQ(cell.verdict, kDisagree) << n.field << " " << n.changed;
        EXPECT_EQ(cell.field, n.field) << n.changed;
      } else {
        EXPECT_EQ(cell.verdict, kAgree)
            << n.field << " " << n.changed << ": " << cell.reason;
      }
    }
  }
}

// The same of the gathers of the other layouts. Their writer leaves no floor
// that would keep byte 0 of a UE8M0 scale away, and finite codes beside byte
// 255.
TEST(JudgeChain, TellsMeaningFromMannersInEveryLayout) {
  for (const TokenLayout& token : TokenLayouts()) {
    if (token.layout == FP8_DS_MLA) continue;
    const Contract base = BuiltinContract(token.layout);
    for (const Neighbour& n : Neighbours(base, Kernel::kGather)) {
      Chain chain{base, n.contract, Kernel::kGather, Rope::kWritten};
      chain.writer.mutable_writer()->set_floor(WriterContract::FLOOR_NONE);
      chain.writer.mutable_writer()->set_nan(WriterContract::NAN_TO_MINUS_448);
      Case first;
      const Cell cell = JudgeChain(chain, MatrixOptions(), &first);
      // What leaves powers of two as they are.
      const bool same =
          token.ue8m0() && n.field == "gather.scale" &&
          (n.changed == "SCALE_POW2_CEIL" || n.changed == "SCALE_BF16");
      if (IsMeaning(n.field, chain) && !same) {
        EXPECT_EQ(cell.verdict, kDisagree)
            << token.name << " " << n.field << " " << n.changed;
        EXPECT_EQ(cell.field, n.field) << token.name << " " << n.changed;
      } else {
        EXPECT_EQ(cell.verdict, kAgree) << token.name << " " << n.field << " "
                                        << n.changed << ": " << cell.reason;
      }
    }
  }
}

// And of the decodes. Of byte 255 of a UE8M0 scale they cannot be asked, so one
// that declares to take it for Inf in the logits is not known to be right.
TEST(JudgeChain, TellsMeaningFromMannersOfDecodesInEveryLayout) {
  int layouts = 0;
  for (const TokenLayout& token : TokenLayouts()) {
    if (token.layout == FP8_DS_MLA || !IsDecoded(token.layout)) continue;
    ++layouts;
    const Contract base = BuiltinContract(token.layout);
    for (const Neighbour& n : Neighbours(base, Kernel::kDecode)) {
      Chain chain{base, n.contract, Kernel::kDecode, Rope::kWritten,
                  HasExtra(token.layout)};
      chain.writer.mutable_writer()->set_floor(WriterContract::FLOOR_NONE);
      chain.writer.mutable_writer()->set_nan(WriterContract::NAN_TO_MINUS_448);
      Case first;
      const Cell cell = JudgeChain(chain, MatrixOptions(), &first);
      const std::string of =
          absl::StrCat(token.name, " ", n.field, " ", n.changed, ": ",
                       cell.field, ": ", cell.reason);
      if (n.field == "qk.ue8m0_last") {
        EXPECT_EQ(cell.verdict, CellVerdict::kNotComputed) << of;
      } else if (n.field == "v.ue8m0_last" || !IsMeaning(n.field, chain)) {
        EXPECT_EQ(cell.verdict, kAgree) << of;
      } else {
        EXPECT_EQ(cell.verdict, kDisagree) << of;
        EXPECT_EQ(cell.field, n.field) << of;
        EXPECT_TRUE(Witnesses(chain, cell.field, first).has_value()) << of;
      }
    }
  }
  EXPECT_EQ(layouts, 3);
}

// Why nobody asks a decode of byte 255: where a case reads such a row the
// logits are NaN, and what the values make of it changes nothing.
TEST(JudgeChain, ScaleByte255IsNanToADecode) {
  Chain chain = ChainOf(ToMatrixParty(*FindParty("dsv4-cuda")),
                        ToMatrixParty(*FindParty("flashmla-sm90-584")));
  Chain inf = chain;
  SetRule(inf, "v.ue8m0_last", "LAST_IS_INF");
  int with_nan = 0;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    const Case c = ChainCase(chain, seed);
    if (c.steps(0).write().kv_c().pattern() != Values::SPECIALS) continue;
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(Apart(inf, chain, *image), std::nullopt) << seed;
    const Expectation written =
        Expect(chain.writer, *image, 0, image->pool.bytes);
    const DecodeExpectation want =
        ExpectDecode(chain.reader, *image, 1, written.pool);
    with_nan += std::any_of(want.lse.begin(), want.lse.end(),
                            [](double lse) { return std::isnan(lse); })
                    ? 1
                    : 0;
  }
  EXPECT_GT(with_nan, 4);
}

// All in doubt: no verdict without power.
TEST(JudgeChain, BoundsThatAllowAnythingAgreeWithNothing) {
  Contract reader = BuiltinContract();
  reader.mutable_arithmetic()->Clear();
  reader.mutable_arithmetic()->set_accumulator(Arithmetic::MMA);
  reader.mutable_arithmetic()->set_accumulator_bits(1);
  Case first;
  const Cell cell =
      JudgeChain(RawRowsReadBy(reader, Kernel::kDecode), {.cases = 8}, &first);
  EXPECT_EQ(cell.verdict, CellVerdict::kNotComputed) << cell.reason;
  EXPECT_EQ(cell.field, "qk.scale_rule and v.scale_rule");
}

TEST(ChainCase, FitsAndIsTheSameEachTime) {
  for (const char* writer : {"native-raw", "native-raw-nope", "nope-shim"}) {
    for (const char* reader : {"glm_nsa", "upconvert-old", "upconvert-new"}) {
      const Chain chain = ChainOf(ToMatrixParty(*FindParty(writer)),
                                  ToMatrixParty(*FindParty(reader)));
      for (std::uint64_t seed = 1; seed <= 64; ++seed) {
        const Case c = ChainCase(chain, seed);
        EXPECT_EQ(c.SerializeAsString(),
                  ChainCase(chain, seed).SerializeAsString());
        const absl::StatusOr<CaseImage> image = BuildImage(c);
        ASSERT_TRUE(image.ok()) << image.status();
        const FitResult fit = Fits(chain, *image);
        EXPECT_EQ(fit.fit, Fit::kFits)
            << writer << " " << reader << " " << seed << fit.reason;
      }
    }
  }
}

TEST(ChainCase, FitsInEveryLayout) {
  for (const Party& writer : AllParties()) {
    for (const Party& reader : AllParties()) {
      if (writer.role != PartyRole::kWriter ||
          reader.role == PartyRole::kWriter ||
          std::string(writer.format) != reader.format ||
          std::string(reader.name) == "glm53_nope") {  // refuses rope
        continue;
      }
      const Chain chain = ChainOf(ToMatrixParty(writer), ToMatrixParty(reader));
      for (std::uint64_t seed = 1; seed <= 64; ++seed) {
        const Case c = ChainCase(chain, seed);
        const absl::StatusOr<CaseImage> image = BuildImage(c);
        ASSERT_TRUE(image.ok()) << image.status();
        const FitResult fit = Fits(chain, *image);
        EXPECT_EQ(fit.fit, Fit::kFits)
            << writer.name << " " << reader.name << " " << seed << fit.reason;
      }
    }
  }
}

// A second cache comes with chains that have one, and with no others.
TEST(ChainCase, SecondCacheWhereThePartyHasOne) {
  for (const auto& [reader, has] : std::map<std::string, bool>{
           {"dsv4-main", false}, {"dsv4-main-extra", true}}) {
    const Chain chain = ChainOf(ToMatrixParty(*FindParty("dsv4-cuda")),
                                ToMatrixParty(*FindParty(reader)));
    int with = 0;
    for (std::uint64_t seed = 1; seed <= 64; ++seed) {
      with += ChainCase(chain, seed).steps(1).decode().has_extra() ? 1 : 0;
    }
    if (has) {
      EXPECT_GT(with, 16);
    } else {
      EXPECT_EQ(with, 0);
    }
  }
}

// Rows that no writer of the chain wrote are no evidence, unless all readers
// take them alike.
TEST(Fits, RefusesScaleEndsInTheSecondCache) {
  const MatrixParty writer = ToMatrixParty(*FindParty("dsv4-cuda"));
  const Chain with =
      ChainOf(writer, ToMatrixParty(*FindParty("dsv4-main-extra")));
  const Chain without = ChainOf(writer, ToMatrixParty(*FindParty("dsv4-main")));
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Case c = ChainCase(with, seed);
    if (!c.steps(1).decode().has_extra()) continue;
    ++tried;
    ExtraCache& extra = *c.mutable_steps(1)->mutable_decode()->mutable_extra();
    extra.clear_lengths();
    const auto fit = [&](const Chain& chain) {
      const absl::StatusOr<CaseImage> image = BuildImage(c);
      EXPECT_TRUE(image.ok()) << image.status();
      return image.ok() ? Fits(chain, *image).fit : Fit::kOther;
    };
    EXPECT_EQ(fit(with), Fit::kFits) << seed;
    EXPECT_EQ(fit(without), Fit::kOther) << seed;
    Fill& fill = *extra.mutable_pool()->mutable_fill();
    fill.set_kind(Fill::BYTE);
    for (const std::uint32_t byte : {0u, 255u, 120u}) {
      fill.set_byte(byte);
      EXPECT_EQ(fit(with), byte == 120 ? Fit::kFits : Fit::kOther) << seed;
    }
  }
  EXPECT_GT(tried, 4);
}

// What is read must have been written by the chain's writer.
TEST(Fits, RefusesRowsOfNobody) {
  const Chain chain = ChainOf(ToMatrixParty(*FindParty("native-raw")),
                              ToMatrixParty(*FindParty("glm_nsa")));
  Case c;
  c.mutable_pool()->set_page_size(1);
  c.mutable_pool()->set_pages(2);
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->add_values(0);
  write.set_pe_dim(64);
  Decode& decode = *c.add_steps()->mutable_decode();
  decode.set_queries(1);
  decode.set_heads(1);
  decode.set_pe_dim(64);
  decode.set_softmax_scale_bits(0x3d000000);
  decode.mutable_indices()->set_rows(1);
  decode.mutable_indices()->set_width(1);
  decode.mutable_indices()->set_valid(1);
  for (const int slot : {0, 1}) {
    decode.mutable_indices()->clear_set();
    decode.mutable_indices()->set_limit(1);
    SetIndex& set = *decode.mutable_indices()->add_set();
    set.set_value(slot);
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(Fits(chain, *image).fit, slot == 0 ? Fit::kFits : Fit::kOther);
  }
}

}  // namespace
}  // namespace mlafuzz
