#include "oracle/two_rules.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/case_fixture.h"
#include "oracle/imagined.h"
#include "oracle/judge.h"

namespace mlafuzz {
namespace {

// A kernel of the contract `wrong`, judged by the builtin one.
class TwoRulesTest : public CaseTest {
 protected:
  void Use(const std::string& text) {
    ASSERT_NO_FATAL_FAILURE(CaseTest::Use(text));
    seen_ = Imagine(wrong_, image_);
  }

  std::optional<std::array<Diagnosis, 2>> Both() const {
    const Contracts contracts = {&contract_, &contract_, &contract_,
                                 &contract_};
    for (const Check& check : Judge(contracts, image_, seen_)) {
      if (!IsFailure(check.verdict)) continue;
      return DiagnoseTwoRules(contracts, image_, seen_, check,
                              Diagnose(contracts, image_, seen_, check));
    }
    return std::nullopt;
  }

  const Contract contract_ = BuiltinContract();
  Contract wrong_ = BuiltinContract();
  Observation seen_;
};

constexpr char kNopeWrite[] = R"(
  pool { page_size: 4 pages: 3 fill { byte: 165 } }
  steps { write { slots { values: [5, 2] }
                  kv_c { pattern: NORMAL_RANGE seed: 1 } } })";
constexpr char kNopeGather[] = R"(
  pool { page_size: 4 pages: 3 fill { kind: ROWS seed: 4 scales: WIDE } }
  steps { gather { block_table { rows: 1 columns: 1 pages { values: [1] } }
                   workspace_starts: 0 dst_rows: 3 nope: true } })";
constexpr char kConvert[] = R"(
  pool { page_size: 4 pages: 3 }
  steps { convert { request_ids { values: [1, 0] } valid_count: true
                    block_table { rows: 2 columns: 2 pages { values: [1, 2, 0, 1]}}
                    token_indices { rows: 2 width: 6 valid: 4 limit: 8 seed: 7 }
                    out_row_stride: 7 } })";
constexpr char kDecode[] = R"(
  pool { page_size: 2 pages: 2 fill { kind: FINITE_ROWS seed: 3 } }
  steps { decode { queries: 1 heads: 1 pe_dim: 64
                   q { pattern: NORMAL_RANGE seed: 1 }
                   indices { rows: 1 width: 3 set { at: 0 value: 3 }
                             set { at: 1 value: -1 } set { at: 2 value: 1 } }
                   softmax_scale_bits: 0x3d800000 } })";

// Whether `key` is one of the explanations.
bool Names(const Diagnosis& d, const std::string& key) {
  if (d.key == key) return true;
  for (const std::string& other : d.also) {
    if (other == key) return true;
  }
  return false;
}

TEST_F(TwoRulesTest, TwoRulesOfAWriter) {
  wrong_.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  wrong_.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  Use(kNopeWrite);
  const auto both = Both();
  ASSERT_TRUE(both.has_value());
  EXPECT_TRUE(Names((*both)[0], "writer.scale=POW2_CEIL")) << (*both)[0].key;
  EXPECT_TRUE(Names((*both)[1], "writer.tail=TAIL_UNCHANGED"))
      << (*both)[1].key;
  EXPECT_TRUE(absl::StrContains((*both)[1].cause, (*both)[0].key));
}

TEST_F(TwoRulesTest, TwoRulesOfAGather) {
  wrong_.mutable_gather()->set_nope_tail(GatherContract::NOPE_TAIL_VERBATIM);
  wrong_.mutable_gather()->set_product(GatherContract::BF16_TRUNCATED);
  Use(kNopeGather);
  const auto both = Both();
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ((*both)[0].key, "gather.nope_tail=NOPE_TAIL_VERBATIM");
  EXPECT_EQ((*both)[1].key, "gather.product=BF16_TRUNCATED");
}

TEST_F(TwoRulesTest, TwoRulesOfADecode) {
  wrong_.mutable_decode()->set_lse_base(DecodeContract::BASE_E);
  wrong_.mutable_v()->set_scale_rule(ReaderSide::SCALE_ONE);
  Use(kDecode);
  const auto both = Both();
  ASSERT_TRUE(both.has_value());
  EXPECT_TRUE(Names((*both)[0], "decode.lse_base=BASE_E") ||
              Names((*both)[1], "decode.lse_base=BASE_E"));
  EXPECT_TRUE(Names((*both)[0], "v.scale_rule=SCALE_ONE") ||
              Names((*both)[1], "v.scale_rule=SCALE_ONE"));
}

// What one rule explains needs no second one.
TEST_F(TwoRulesTest, OneRuleIsEnough) {
  wrong_.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  Use(kNopeWrite);
  EXPECT_FALSE(Both().has_value());
}

// One byte more, and no pair predicts it.
TEST_F(TwoRulesTest, EveryByteCounts) {
  wrong_.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  wrong_.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  Use(kNopeWrite);
  seen_.steps[0].pool->at(
      static_cast<std::size_t>(image_.pool.RowAt(5) + 100)) ^= 1;
  EXPECT_FALSE(Both().has_value());
}

// A fault of no rule is not made of two.
TEST_F(TwoRulesTest, NoPairForAFaultOfAnotherKind) {
  Use(kConvert);
  for (std::size_t i = 0; i < image_.steps[0].tensors.size(); ++i) {
    if (image_.steps[0].tensors[i].id == TensorId::kOut) {
      seen_.steps[0].outputs[i][8] ^= 1;
    }
  }
  EXPECT_FALSE(Both().has_value());
}

TEST_F(TwoRulesTest, NotOfACallThatWasRefused) {
  wrong_.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  wrong_.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  Use(kNopeWrite);
  seen_.steps[0].status = CallStatus::kRefused;
  EXPECT_FALSE(Both().has_value());
}

}  // namespace
}  // namespace mlafuzz
