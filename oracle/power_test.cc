// What the judge can see: for every rule of every kernel, a kernel with one
// other value of it is caught on some case, and the diagnosis names the rule.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/imagined.h"
#include "oracle/judge.h"
#include "oracle/validity.h"
#include "oracle/verdict.h"

namespace mlafuzz {
namespace {

Case Parse(const std::string& text) {
  absl::StatusOr<Case> c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status() << "\n" << text;
  return c.ok() ? *c : Case();
}

constexpr char kPool[] =
    "pool { page_size: 4 pages: 4 row_stride: 664 page_stride: 2720 offset: "
    "1408 fill { kind: $0 seed: 3 byte: 165 scales: $1 } } poison: 9 ";

std::vector<Case> WriterCases() {
  std::vector<Case> cases;
  const std::string pool = absl::Substitute(kPool, "BYTE", "ARBITRARY");
  for (const char* pattern :
       {"ZERO", "CONSTANT", "RANDOM_BITS", "NORMAL_RANGE", "OCTAVES", "OUTLIER",
        "POW2_SCALE", "MIDPOINTS", "SUBNORMAL", "TINY_NEGATIVE", "SPECIALS",
        "NEGATIVE_ZERO", "FLOOR_EDGE", "MIXED"}) {
    for (const char* input : {"BF16", "F16"}) {
      for (int pe_dim : {64, 0}) {
        cases.push_back(Parse(absl::Substitute(
            "$0 steps { write { slots { values: [5, 2, 11] } input: $1 pe_dim: "
            "$2 kv_c { pattern: $3 seed: 4 bits: 15360 } k_pe { pattern: "
            "RANDOM_BITS } } }",
            pool, input, pe_dim, pattern)));
      }
    }
  }
  for (const char* slots : {"-1", "-3", "3, -1, 7", "-5, 1, -2", "6, 6, 1"}) {
    cases.push_back(Parse(absl::Substitute(
        "$0 steps { write { slots { values: [$1] } pe_dim: 64 kv_c { pattern: "
        "NORMAL_RANGE } k_pe { pattern: RANDOM_BITS } } }",
        pool, slots)));
  }
  cases.push_back(Parse(pool + " steps { write { pe_dim: 64 } }"));
  return cases;
}

std::vector<Case> GatherCases() {
  std::vector<Case> cases;
  const char* const calls[] = {
      // Three requests, one begins inside a page; a table in a wider one.
      "block_table { rows: 3 columns: 3 row_stride: 5 pages { values: "
      "[2, 0, 1, 3, 1, 2, 0, 3, 1] } } workspace_starts: [0, 5, 9] "
      "seq_starts: [0, 2, 3] dst_rows: 15 dst_row_stride: 584",
      // Lengths of their own.
      "block_table { rows: 2 columns: 2 row_stride: 4 pages { values: "
      "[2, 0, 1, 3] } } workspace_starts: [0, 6] seq_lens: [4, 7] dst_rows: 14",
      // Rows without rope.
      "block_table { rows: 1 columns: 4 pages { values: [3, 1, 0, 2] } } "
      "workspace_starts: [0] dst_rows: 16 nope: true",
      // A table that is too narrow.
      "block_table { rows: 2 columns: 1 row_stride: 3 pages { values: [2, 1] } "
      "} workspace_starts: [0, 6] dst_rows: 12",
      // One row each from the end of a page to the next: more pages than rows.
      "block_table { rows: 3 columns: 2 pages { values: [0, 1, 2, 3, 1, 2] } } "
      "workspace_starts: [0, 2, 4] seq_starts: [3, 3, 3] dst_rows: 6",
      // Requests that read the same rows into the same rows: many pages.
      "block_table { rows: 6 columns: 4 pages { values: [0, 1, 2, 3, 0, 1, 2, "
      "3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] } } "
      "workspace_starts: [0, 16, 0, 16, 0, 16] dst_rows: 16",
      // A start past the end of dst.
      "block_table { rows: 2 columns: 5 pages { values: [2, 0, 1, 3, 1, 3, 3, "
      "3, 3, 3] } } workspace_starts: [0, 17] dst_rows: 15",
      // The same, and one more request whose rows come last.
      "block_table { rows: 10 columns: 4 expanded: true pages { values: [0, 1, "
      "2, 3] } } workspace_starts: [0, 0, 0, 0, 0, 0, 0, 0, 0, 16] seq_lens: "
      "[16, 16, 16, 16, 16, 16, 16, 16, 16, 4] dst_rows: 20",
  };
  for (const char* fill : {"ROWS", "RANDOM_BYTES"}) {
    for (const char* scales :
         {"ARBITRARY", "POWERS_OF_TWO", "WIDE", "SPECIAL"}) {
      for (const char* call : calls) {
        cases.push_back(
            Parse(absl::StrCat(absl::Substitute(kPool, fill, scales),
                               " steps { gather { ", call, " } }")));
      }
    }
  }
  return cases;
}

std::vector<Case> ConvertCases() {
  std::vector<Case> cases;
  const std::string pool = absl::Substitute(kPool, "BYTE", "ARBITRARY");
  const char* const tables[] = {
      "rows: 3 columns: 2 row_stride: 4 pages { values: [2, 0, 1, 3, 3, 1] }",
      "rows: 3 columns: 3 expanded: true pages { values: [3, 0, 2] }",
      "rows: 3 columns: 2 pages { values: [2, 0, 1, 3, 3, 1] }",
  };
  const char* const indices[] = {
      // limit past the table's width
      "rows: 3 width: 24 row_stride: 25 valid: 15 limit: 15 place: SCATTERED "
      "pad: MIXED_PAD seed: 5",
      "rows: 3 width: 8 valid: 5 limit: 8 place: FRONT",
      "rows: 2 width: 8 valid: 6 limit: 8 set { at: 1 value: -2 } "
      "set { at: 9 value: -3 }",
      "rows: 2 width: 6 valid: 6 limit: 12",
      "rows: 2 width: 4",
  };
  for (const char* table : tables) {
    for (const char* index : indices) {
      for (const char* requests : {"values: [1, 2, 0]", "values: [1, 3, -1]"}) {
        Case c =
            Parse(absl::StrCat(pool, " steps { convert { request_ids { ",
                               requests, " } valid_count: true block_table { ",
                               table, " } token_indices { ", index, " } } }"));
        Convert* convert = c.mutable_steps(0)->mutable_convert();
        while (convert->request_ids().values_size() >
               static_cast<int>(convert->token_indices().rows())) {
          convert->mutable_request_ids()->mutable_values()->RemoveLast();
        }
        cases.push_back(c);
      }
    }
  }
  return cases;
}

// Contracts to start from: this project's, vLLM's, and such as promise what
// those leave to the caller.
std::vector<Contract> Bases() {
  std::vector<Contract> bases = {BuiltinContract(), VllmContract()};
  Contract strict = BuiltinContract();
  strict.mutable_writer()->set_duplicates(WriterContract::LAST_WINS);
  strict.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  strict.mutable_writer()->set_floor_bits(0x38d1b717);
  strict.mutable_gather()->set_page_tasks(GatherContract::EVERY_PAGE);
  strict.mutable_gather()->set_table_columns(
      GatherContract::TABLE_COLUMNS_SKIPPED);
  strict.mutable_convert()->set_requests(ConvertContract::REQUESTS_INVALID);
  bases.push_back(strict);
  Contract loose = strict;
  loose.mutable_writer()->set_duplicates(WriterContract::FIRST_WINS);
  loose.mutable_writer()->set_floor(WriterContract::FLOOR_ON_AMAX);
  loose.mutable_writer()->set_scale(WriterContract::RAW);
  loose.mutable_gather()->set_nope_tail(GatherContract::NOPE_TAIL_UNTOUCHED);
  loose.mutable_convert()->set_negative(ConvertContract::MINUS_ONE_ONLY);
  loose.mutable_convert()->set_order(ConvertContract::COMPACTED);
  bases.push_back(loose);
  return bases;
}

Contracts All(const Contract& c) { return {&c, &c, &c, &c}; }

class Power {
 public:
  void Try(Kernel kernel, const std::vector<Case>& cases) {
    for (const Contract& base : Bases()) {
      const std::vector<Neighbour> neighbours = Neighbours(base, kernel);
      for (const Case& c : cases) {
        const absl::StatusOr<CaseImage> image = BuildImage(c);
        ASSERT_TRUE(image.ok()) << image.status();
        const Validity v = Classify(base, *image, 0).validity;
        if (v != Validity::kValid && v != Validity::kBoundary) continue;
        ExpectAllPass(base, *image);
        const std::vector<std::string> fields =
            InformativeFields(base, *image, 0, image->pool.bytes);
        for (const Neighbour& n : neighbours) TryOne(base, *image, n, fields);
      }
    }
  }

  // Rules and values never told from the declared one.
  std::vector<std::string> Unseen() const {
    std::vector<std::string> unseen;
    for (const auto& [rule, named] : named_) {
      if (named == 0) unseen.push_back(rule);
    }
    return unseen;
  }

 private:
  static void ExpectAllPass(const Contract& base, const CaseImage& image) {
    for (const Check& check : Judge(All(base), image, Imagine(base, image))) {
      EXPECT_TRUE(check.verdict == Verdict::kPass ||
                  check.verdict == Verdict::kUninformative)
          << check.property << ": " << check.detail;
    }
  }

  void TryOne(const Contract& base, const CaseImage& image, const Neighbour& n,
              const std::vector<std::string>& fields) {
    const std::string rule = oracle::KeyOf(n);
    int& named = named_[rule];
    Observation seen = Imagine(n.contract, image);
    if (n.field == "writer.zero_tokens" &&
        n.changed == "ZERO_TOKENS_LAUNCH_ERROR" &&
        image.source->steps(0).write().slots().values_size() == 0) {
      seen.steps[0].status = CallStatus::kError;
      seen.steps[0].message = "invalid configuration argument";
    }
    if (n.changed == "NAN_ANY") Scramble(image, &seen);
    if (n.changed == "DUPLICATES_RACE") Tear(n.contract, image, &seen);
    const std::vector<Check> checks = Judge(All(base), image, seen);
    for (const Check& check : checks) {
      if (!IsFailure(check.verdict)) continue;
      EXPECT_NE(std::find(fields.begin(), fields.end(), n.field), fields.end())
          << rule << " is seen, but not listed as informative";
      const Diagnosis d = Diagnose(All(base), image, seen, check);
      EXPECT_FALSE(d.cause.empty());
      // Where several rules explain a case, the others are mentioned.
      EXPECT_TRUE(d.key == rule || absl::StrContains(d.cause, rule))
          << rule << " diagnosed as " << d.key << ": " << d.cause;
      if (d.key == rule) {
        EXPECT_EQ(d.field, n.field);
        ++named;
      }
      EXPECT_FALSE(Explain(All(base), image, seen, check).empty());
    }
  }

  // Rows written twice: every second byte from the other writer.
  static void Tear(Contract contract, const CaseImage& image,
                   Observation* seen) {
    contract.mutable_writer()->set_duplicates(WriterContract::FIRST_WINS);
    const Observation first = Imagine(contract, image);
    contract.mutable_writer()->set_duplicates(WriterContract::LAST_WINS);
    const Observation last = Imagine(contract, image);
    if (!first.steps[0].pool || !last.steps[0].pool) return;
    seen->steps[0].pool = *first.steps[0].pool;
    for (std::size_t i = 0; i < seen->steps[0].pool->size(); i += 2) {
      (*seen->steps[0].pool)[i] = (*last.steps[0].pool)[i];
    }
  }

  // Other NaN payloads where dst holds 0x7FFF.
  static void Scramble(const CaseImage& image, Observation* seen) {
    const StepImage& step = image.steps[0];
    for (std::size_t i = 0; i < step.tensors.size(); ++i) {
      if (step.tensors[i].id != TensorId::kDst) continue;
      const Tensor& dst = step.tensors[i];
      std::vector<std::uint8_t>& out = seen->steps[0].outputs[i];
      for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
        for (std::int64_t column = 0; column < 512; ++column) {
          const std::size_t at = 2 * (row * dst.strides[0] + column);
          const bool was = dst.bytes[at] == 0xff && dst.bytes[at + 1] == 0x7f;
          if (out[at] == 0xff && out[at + 1] == 0x7f && !was) out[at] = 0xc0;
        }
      }
    }
  }

  std::map<std::string, int> named_;
};

// A launch that works is no launch error: where vLLM's contract lets an empty
// one fail, nothing is asked of it.
TEST(Power, EveryWriterRuleIsNamed) {
  Power power;
  power.Try(Kernel::kWriter, WriterCases());
  EXPECT_EQ(power.Unseen(),
            (std::vector<std::string>{"writer.zero_tokens=ZERO_TOKENS_NO_OP"}));
}

// Rules that promise more than a declared one which leaves the matter to the
// caller: the cases that would tell them apart are unspecified.
TEST(Power, EveryGatherRuleIsNamed) {
  Power power;
  power.Try(Kernel::kGather, GatherCases());
  EXPECT_EQ(power.Unseen(), (std::vector<std::string>{
                                "gather.page_tasks=EVERY_PAGE",
                                "gather.table_columns=TABLE_COLUMNS_SKIPPED"}));
}

TEST(Power, EveryConvertRuleIsNamed) {
  Power power;
  power.Try(Kernel::kConvert, ConvertCases());
  EXPECT_EQ(power.Unseen(),
            (std::vector<std::string>{"convert.requests=REQUESTS_INVALID"}));
}

}  // namespace
}  // namespace mlafuzz
