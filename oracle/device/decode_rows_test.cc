#include "oracle/device/decode_rows.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/parties.h"
#include "gtest/gtest.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/decode_matches.h"
#include "oracle/decode/dequant.h"
#include "oracle/device/decode_plan.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// What a block of threads does, one after the other.
struct OneThread {
  template <class F>
  void For(int n, const F& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void One(const F& f) const {
    f();
  }
  void Together() const {}
};

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t Bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// A step's tensors end to end, as a call lays them.
struct Memory {
  std::vector<std::uint8_t> bytes;
  DecodePlace place;

  std::uint64_t Add(const Tensor* tensor) {
    const std::uint64_t at = bytes.size();
    if (tensor != nullptr) {
      bytes.insert(bytes.end(), tensor->bytes.begin(), tensor->bytes.end());
    }
    return at;
  }
};

class Rows {
 public:
  Rows(const Contract& contract, const CaseImage& image)
      : expected(ExpectDecode(contract, image, 0, image.pool.bytes)),
        step_(image.steps[0]) {
    auto rules = DecodeRulesOf(contract, image.pool, step_);
    if (!rules.has_value()) return;
    rules_ = *rules;
    memory_.bytes.assign(3, 0x77);  // nothing is aligned
    memory_.place.pool = memory_.bytes.size();
    memory_.bytes.insert(memory_.bytes.end(), image.pool.bytes.begin(),
                         image.pool.bytes.end());
    memory_.place.q = memory_.Add(step_.Find(TensorId::kQ));
    memory_.place.q_elements =
        static_cast<std::int64_t>(step_.Find(TensorId::kQ)->bytes.size() / 2);
    const Tensor* const sinks = step_.Find(TensorId::kSinks);
    if (sinks != nullptr && rules_.result.sink != ResultRules::Sink::kDropped) {
      rules_.sinks = memory_.Add(sinks);
    }
    memory_.place.out = memory_.Add(step_.Find(TensorId::kAttention));
    memory_.place.lse = memory_.Add(step_.Find(TensorId::kLse));
    planned = plan_.Add(contract, rules_, image.pool, step_, memory_.place);
    room_bytes_.resize(LayRoom(plan_.Most(rules_), nullptr, &room_));
    LayRoom(plan_.Most(rules_), room_bytes_.data(), &room_);
  }

  void SetOut(std::int64_t row, int c, std::uint16_t word) {
    const Tensor& out = *step_.Find(TensorId::kAttention);
    std::memcpy(memory_.bytes.data() + memory_.place.out +
                    2 * (row / rules_.heads * out.strides[0] +
                         row % rules_.heads * out.strides[1] +
                         c * out.strides[2]),
                &word, 2);
  }
  void SetLse(std::int64_t row, float lse) {
    const Tensor& tensor = *step_.Find(TensorId::kLse);
    std::memcpy(memory_.bytes.data() + memory_.place.lse +
                    4 * (row / rules_.heads * tensor.strides[0] +
                         row % rules_.heads * tensor.strides[1]),
                &lse, 4);
  }

  DecodeTold Run(std::int64_t row) {
    const OneThread team;
    DecodeTold told;
    DecodeRow<OneThread>(
        team, rules_, memory_.bytes.data(), memory_.bytes.data(),
        plan_.queries[static_cast<std::size_t>(row / rules_.heads)],
        static_cast<int>(row % rules_.heads), plan_.keys.data(),
        plan_.blocks.data(), plan_.splits.data(), room_, &shared_)
        .Run(/*with_checksum=*/true, &told);
    return told;
  }

  const Bounded& out(int c) const { return room_.out[c]; }
  const Bounded& lse() const { return shared_.lse; }

  const DecodeExpectation expected;
  bool planned = false;

 private:
  const StepImage& step_;
  DecodeRules rules_ = {};
  DecodePlan plan_;
  Memory memory_;
  std::vector<char> room_bytes_;
  DecodeRoom room_;
  DecodeShared shared_;
};

std::uint16_t WordOf(double x) {
  return Bf16BitsOf<Rounding::kNearestEven>(static_cast<float>(x));
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::uint32_t operator()(std::uint32_t n) {
    return static_cast<std::uint32_t>(random_() % n);
  }
  double Real() {
    return static_cast<double>(random_() >> 11) * 0x1p-53;
  }

 private:
  std::mt19937_64 random_;
};

Case Decodes(Layout layout, Draws& draw) {
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_layout(layout);
  pool.set_page_size(1 + draw(8));
  pool.set_pages(1 + draw(4));
  const Fill::Kind fills[] = {Fill::FINITE_ROWS, Fill::FINITE_ROWS,
                              Fill::ROWS, Fill::LATTICE_ROWS,
                              Fill::RANDOM_BYTES};
  pool.mutable_fill()->set_kind(fills[draw(5)]);
  pool.mutable_fill()->set_seed(draw(1u << 30));
  pool.mutable_fill()->set_scales(static_cast<Fill::Scales>(draw(3)));
  Decode& d = *c.add_steps()->mutable_decode();
  d.set_queries(1 + draw(3));
  d.set_heads(1 + draw(3));
  d.set_pe_dim(layout == FP8_DS_MLA && draw(2) == 0 ? 64 : 0);
  const Values::Pattern patterns[] = {
      Values::NORMAL_RANGE, Values::NORMAL_RANGE, Values::NORMAL_RANGE,
      Values::OCTAVES,      Values::ZERO,         Values::SMALL_INTEGERS,
      Values::SUBNORMAL,    Values::SPECIALS};
  d.mutable_q()->set_pattern(patterns[draw(8)]);
  d.mutable_q()->set_seed(draw(1u << 30));
  const std::uint32_t widths[] = {1, 2, 7, 64, 65, 150, 300};
  const std::uint32_t width = widths[draw(7)];
  Indices& indices = *d.mutable_indices();
  indices.set_rows(d.queries());
  indices.set_width(width);
  indices.set_valid(draw(4) == 0 ? draw(width + 1) : width);
  indices.set_limit(pool.pages() * pool.page_size());
  indices.set_seed(draw(1u << 30));
  if (draw(3) == 0) {
    for (std::uint32_t i = 0; i < d.queries(); ++i) {
      d.add_lengths(static_cast<int>(draw(width + 1)));
    }
  }
  if (draw(3) == 0) {
    const float sinks[] = {0,   3,        -2,      30,  -80,
                           1e5, INFINITY, -INFINITY, NAN};
    for (std::uint32_t i = 0; i < d.heads(); ++i) {
      d.add_sink_bits(Bits(sinks[draw(9)]));
    }
  }
  if (draw(3) == 0) d.set_splits(1 + draw(5));
  const float scales[] = {0.0416667f, 0.0625f, 1.0f, 0.001f, 1e-30f, 3e38f};
  d.set_softmax_scale_bits(Bits(scales[draw(draw(4) == 0 ? 6 : 2)]));
  return c;
}

// What the contracts of all parties that read a cache declare, in their own
// layouts; and all layouts with arithmetic drawn value by value.
struct Named {
  std::string name;
  Layout layout;
  Contract contract;
};

std::vector<Named> Shipped() {
  std::vector<Named> all;
  for (const Layout layout : {FP8_DS_MLA, DSV4_FOOTER_584, DSV4_1_FOOTER_528,
                              NOPE_ROW_528}) {
    if (!IsDecoded(LayoutOf(layout))) continue;
    all.push_back({Layout_Name(layout), layout, BuiltinContract(layout)});
  }
  for (const Party& party : AllParties()) {
    if (party.role != PartyRole::kReader) continue;
    for (const CacheFormat& format : AllCacheFormats()) {
      Layout layout;
      if (std::string(format.name) != party.format ||
          format.layout == nullptr || !Layout_Parse(format.layout, &layout) ||
          !IsDecoded(LayoutOf(layout))) {
        continue;
      }
      all.push_back({party.name, layout, PartyContract(party)});
    }
  }
  return all;
}

Contract Drawn(Layout layout, Draws& draw) {
  Contract c = BuiltinContract(layout);
  Arithmetic& a = *c.mutable_arithmetic();
  a.set_dequantised(static_cast<Arithmetic::Dequantised>(1 + draw(3)));
  a.set_query(static_cast<Arithmetic::Query>(1 + draw(2)));
  a.set_weights(static_cast<Arithmetic::Weights>(draw(5)));
  const std::uint32_t blocks[] = {0, 1, 16, 64};
  a.set_block(blocks[draw(4)]);
  a.set_blocks_per_split(a.block() == 0 ? 0 : draw(3));
  a.set_partials(static_cast<Arithmetic::Partials>(draw(3)));
  a.set_accumulator(static_cast<Arithmetic::Accumulator>(draw(3)));
  a.set_accumulator_bits(
      a.accumulator() == Arithmetic::MMA ? draw(2) * (14 + draw(13)) : 0);
  a.set_exp2_relative_error(draw(2) == 0 ? 0 : 0x1p-22);
  a.set_denormals(static_cast<Arithmetic::Denormals>(draw(3)));
  DecodeContract& d = *c.mutable_decode();
  d.set_empty_row(static_cast<DecodeContract::EmptyRow>(1 + draw(3)));
  d.set_lse_base(static_cast<DecodeContract::LseBase>(1 + draw(2)));
  d.set_sink(static_cast<DecodeContract::Sink>(1 + draw(3)));
  const auto scales = [&](ReaderSide& side) {
    side.set_scale_rule(static_cast<ReaderSide::ScaleRule>(1 + draw(5)));
    side.set_ue8m0_zero(static_cast<Ue8m0Zero>(1 + draw(2)));
    side.set_ue8m0_last(static_cast<Ue8m0Last>(1 + draw(2)));
  };
  scales(*c.mutable_qk());
  scales(*c.mutable_v());
  return c;
}

struct Counts {
  std::int64_t rows = 0;
  std::int64_t told = 0;
  std::int64_t passed_at_edges = 0;
};

// Rows of one case: right outputs are told to be right, by the very values and
// bounds of ExpectDecode(); wrong ones are never passed.
void Compare(const std::string& name, const Contract& contract, Draws& draw,
             Layout layout, Counts* counts) {
  const Case c = Decodes(layout, draw);
  const auto image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status() << "\n" << c.DebugString();
  Rows rows(contract, *image);
  const DecodeExpectation& expected = rows.expected;
  counts->rows += expected.rows();
  if (!rows.planned) return;
  const auto at = [](std::int64_t row, int column) {
    return static_cast<std::size_t>(row * kDecodeColumns + column);
  };
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (int i = 0; i < kDecodeColumns; ++i) {
      rows.SetOut(row, i, WordOf(expected.out[at(row, i)]));
    }
    // fp32 holds no middle of a narrow interval; then the row is not told.
    rows.SetLse(row, static_cast<float>(expected.lse[r]));
    const DecodeTold told = rows.Run(row);
    if (told.within == 0) continue;
    ++counts->told;
    ASSERT_EQ(Bits(rows.lse().value), Bits(expected.lse[r])) << name;
    ASSERT_EQ(Bits(rows.lse().radius), Bits(expected.lse_bound[r])) << name;
    bool settled = false;
    for (int i = 0; i < kDecodeColumns; ++i) {
      ASSERT_EQ(Bits(rows.out(i).value), Bits(expected.out[at(row, i)]))
          << name << " " << i << "\n" << c.DebugString();
      ASSERT_EQ(Bits(rows.out(i).radius), Bits(expected.out_bound[at(row, i)]))
          << name << " " << i << "\n" << c.DebugString();
      settled |= !std::isinf(expected.out_bound[at(row, i)]);
    }
    ASSERT_EQ(told.settled_out != 0, settled);
    ASSERT_EQ(told.settled_lse != 0, !std::isinf(expected.lse_bound[r]));

    // One word or the LSE anywhere about the edge of its bound: the host's
    // verdict, whatever it is.
    for (int trial = 0; trial < 4; ++trial) {
      const int column = static_cast<int>(draw(kDecodeColumns));
      const double value = expected.out[at(row, column)];
      const double bound = expected.out_bound[at(row, column)];
      if (std::isinf(bound)) continue;
      const double sign = draw(2) == 0 ? -1 : 1;
      const std::uint16_t word = static_cast<std::uint16_t>(
          WordOf(value + sign * bound) + draw(4));
      const bool right = OutMatches(value, bound, expected.may_flush, word);
      rows.SetOut(row, column, word);
      ASSERT_EQ(rows.Run(row).within != 0, right) << name << " " << word;
      rows.SetOut(row, column, WordOf(value));
      counts->passed_at_edges += right ? 1 : 0;
    }
    const double bound = expected.lse_bound[r];
    if (std::isinf(bound)) continue;
    const float lse =
        static_cast<float>(expected.lse[r] + (2 * draw.Real() - 1) * 2 * bound);
    const bool right = LseMatches(expected.lse[r], bound, lse);
    rows.SetLse(row, lse);
    const DecodeTold again = rows.Run(row);
    ASSERT_EQ(again.within != 0, right) << name;
    ASSERT_EQ(again.lse_of_bound, LseOfBound(expected.lse[r], bound, lse));
    ASSERT_EQ(again.checksum, told.checksum);
  }
}

TEST(DecodeRows, AreWhatExpectDecodeSaysOfShippedContracts) {
  const std::vector<Named> shipped = Shipped();
  ASSERT_GT(shipped.size(), 6u);
  for (const Named& party : shipped) {
    Draws draw(7);
    Counts counts;
    for (int i = 0; i < 60; ++i) {
      Compare(party.name, party.contract, draw, party.layout, &counts);
      if (HasFatalFailure()) return;
    }
    std::printf("%-24s %5ld rows, %4.1f %% told\n", party.name.c_str(),
                static_cast<long>(counts.rows),
                100.0 * static_cast<double>(counts.told) /
                    static_cast<double>(counts.rows));
    // Those of which too little is declared are the host's.
    const Arithmetic& a = party.contract.arithmetic();
    if (a.query() != Arithmetic::QUERY_UNKNOWN &&
        a.dequantised() != Arithmetic::DEQUANTISED_UNKNOWN) {
      EXPECT_GT(counts.told * 10, counts.rows) << party.name;
    }
  }
}

TEST(DecodeRows, AreWhatExpectDecodeSaysOfAllArithmetic) {
  Draws draw(11);
  Counts counts;
  const Layout layouts[] = {FP8_DS_MLA, DSV4_FOOTER_584, DSV4_1_FOOTER_528,
                            NOPE_ROW_528};
  for (int i = 0; i < 1200; ++i) {
    const Layout layout = layouts[draw(4)];
    if (!IsDecoded(LayoutOf(layout))) continue;
    const Contract contract = Drawn(layout, draw);
    Compare(contract.arithmetic().ShortDebugString(), contract, draw, layout,
            &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.rows, 3000);
  EXPECT_GT(counts.told * 5, counts.rows);
  EXPECT_GT(counts.passed_at_edges, 500);
}

}  // namespace
}  // namespace mlafuzz::oracle
