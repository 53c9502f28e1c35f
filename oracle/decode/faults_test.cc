// What faults.h computes of a fault is named as that fault, and no rule is.
#include "oracle/decode/faults.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/judge_decode.h"

namespace mlafuzz {
namespace {

// Four queries of two requests over few keys, and a second cache whose pages
// and index rows have other sizes.
Case PlainCase(Layout layout) {
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_layout(layout);
  pool.set_page_size(4);
  pool.set_pages(2);
  pool.mutable_fill()->set_kind(Fill::FINITE_ROWS);
  pool.mutable_fill()->set_seed(3);
  Decode& d = *c.add_steps()->mutable_decode();
  d.set_queries(4);
  d.set_query_length(2);
  d.set_heads(2);
  d.mutable_q()->set_pattern(Values::NORMAL_RANGE);
  d.mutable_q()->set_seed(4);
  Indices& i = *d.mutable_indices();
  i.set_rows(4);
  i.set_width(3);
  i.set_valid(3);
  i.set_limit(8);
  d.set_softmax_scale_bits(0x3d2aaaab);
  if (layout != DSV4_FOOTER_584) return c;
  ExtraCache& extra = *d.mutable_extra();
  extra.mutable_pool()->set_page_size(3);
  extra.mutable_pool()->set_pages(2);
  *extra.mutable_pool()->mutable_fill() = pool.fill();
  extra.mutable_pool()->mutable_fill()->set_seed(9);
  extra.mutable_indices()->set_rows(4);
  extra.mutable_indices()->set_width(6);
  extra.mutable_indices()->set_valid(6);
  extra.mutable_indices()->set_limit(6);
  return c;
}

Decode& CallOf(Case& c) { return *c.mutable_steps(0)->mutable_decode(); }

void SetLengths(std::vector<std::int32_t> lengths, Case& c) {
  CallOf(c).mutable_lengths()->Assign(lengths.begin(), lengths.end());
}

// What a kernel with that fault leaves behind: each value at the middle of its
// bound.
StepObservation Observe(const DecodeExpectation& e, const StepImage& step) {
  StepObservation seen;
  for (const Tensor& t : step.tensors) {
    std::vector<std::uint8_t>& bytes = seen.outputs.emplace_back();
    if (!t.output) continue;
    bytes = t.bytes;
    if (t.id == TensorId::kAttention) {
      std::vector<std::uint16_t> bits;
      for (const double value : e.out) {
        bits.push_back(oracle::Bf16FromFloat(static_cast<float>(value),
                                             oracle::Rounding::kNearestEven));
      }
      std::memcpy(bytes.data(), bits.data(), bytes.size());
    } else {
      const std::vector<float> lse(e.lse.begin(), e.lse.end());
      std::memcpy(bytes.data(), lse.data(), bytes.size());
    }
  }
  return seen;
}

// The causes given of a call with the fault `key`, of each of its forms.
std::vector<std::string> CausesOf(const Case& c, const std::string& key) {
  const CaseImage image = *BuildImage(c);
  const Contract contract = BuiltinContract(image.pool.layout);
  std::vector<std::string> causes;
  for (const oracle::DecodeFault& fault :
       oracle::DecodeFaults(contract, image, 0)) {
    if (fault.key != key) continue;
    const StepObservation seen =
        Observe(ExpectDecode(contract, image, 0, image.pool.bytes,
                             fault.options),
                image.steps[0]);
    std::vector<Check> checks;
    JudgeDecode(contract, image, 0, image.pool.bytes, seen, &checks);
    for (const Check& check : checks) {
      if (!IsFailure(check.verdict)) continue;
      causes.push_back(DiagnoseDecode(contract, image, 0, image.pool.bytes,
                                      seen, check)
                           .key);
      EXPECT_TRUE(RulesOutDecodeFault(contract, image, 0, image.pool.bytes,
                                      Observe(ExpectDecode(contract, image, 0,
                                                           image.pool.bytes),
                                              image.steps[0]),
                                      key));
      break;
    }
  }
  return causes;
}

void ExpectNamed(const Case& c, const std::string& key) {
  const std::vector<std::string> causes = CausesOf(c, key);
  EXPECT_FALSE(causes.empty()) << key << " is not offered, or shows nothing";
  for (const std::string& cause : causes) EXPECT_EQ(cause, key);
}

TEST(DecodeFaults, ASecondCacheTakenToBeLikeTheFirst) {
  ExpectNamed(PlainCase(DSV4_FOOTER_584), oracle::kExtraFooters);
  ExpectNamed(PlainCase(DSV4_FOOTER_584), oracle::kExtraWidth);
}

// Of UE8M0 scales and rope: the ends of a scale byte show in no such case.
TEST(DecodeFaults, ARuleOfOneCacheAlone) {
  for (const char* key :
       {oracle::kExtraReadOtherwise, oracle::kFirstReadOtherwise}) {
    const std::vector<std::string> causes =
        CausesOf(PlainCase(DSV4_FOOTER_584), key);
    EXPECT_GE(causes.size(), 3u);
    for (const std::string& cause : causes) EXPECT_EQ(cause, key);
  }
}

TEST(DecodeFaults, NoSecondCacheNoFaultOfIt) {
  for (const char* key :
       {oracle::kExtraReadOtherwise, oracle::kFirstReadOtherwise,
        oracle::kExtraFooters, oracle::kExtraWidth}) {
    EXPECT_TRUE(CausesOf(PlainCase(FP8_DS_MLA), key).empty()) << key;
  }
}

TEST(DecodeFaults, LengthsOfOthers) {
  Case c = PlainCase(FP8_DS_MLA);
  SetLengths({3, 1, 2, 3}, c);
  ExpectNamed(c, oracle::kLengthOfRequest);
  SetLengths({3, 0, 2, 3}, c);
  ExpectNamed(c, oracle::kZeroLength);
  // Of one request it is the first query's.
  CallOf(c).set_query_length(4);
  EXPECT_TRUE(CausesOf(c, oracle::kLengthOfRequest).empty());
}

TEST(DecodeFaults, ARowWithoutKeysHasItsSink) {
  Case c = PlainCase(FP8_DS_MLA);
  SetLengths({3, 0, 2, 3}, c);
  EXPECT_TRUE(CausesOf(c, oracle::kEmptyRowSink).empty());
  CallOf(c).add_sink_bits(0x3f800000);
  CallOf(c).add_sink_bits(0xbf800000);
  // With no other row whose LSE has a sink, rules of sinks say as much.
  const std::vector<std::string> causes = CausesOf(c, oracle::kEmptyRowSink);
  ASSERT_EQ(causes.size(), 1u);
}

TEST(DecodeFaults, BlocksThatSplitsDoNotDivide) {
  Case c = PlainCase(FP8_DS_MLA);
  Decode& d = CallOf(c);
  d.set_queries(1);
  d.set_query_length(1);
  d.mutable_indices()->set_rows(1);
  d.mutable_indices()->set_width(5 * 64);
  d.mutable_indices()->set_valid(5 * 64);
  d.set_splits(2);
  // Lanes that are cut off at a width say the same of one call.
  const std::vector<std::string> causes = CausesOf(c, oracle::kUnevenDropped);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0] == oracle::kUnevenDropped ||
              causes[0] == oracle::kRowTruncated)
      << causes[0];
  d.set_splits(5);
  EXPECT_TRUE(CausesOf(c, oracle::kUnevenDropped).empty());
}

}  // namespace
}  // namespace mlafuzz
