// What faults.h computes of a fault is named as that fault, and no rule is.
#include "oracle/decode/faults.h"

#include <algorithm>
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

// For each form of the fault `key` that the call has room for and that shows:
// whether the fault is named, first or beside rules that predict as much.
std::vector<bool> NamedIn(const Case& c, const std::string& key) {
  const CaseImage image = *BuildImage(c);
  const Contract contract = BuiltinContract(image.pool.layout);
  std::vector<bool> named;
  for (const oracle::DecodeFault& fault :
       oracle::DecodeFaults(contract, image, 0)) {
    if (fault.key != key) continue;
    const StepObservation seen = Observe(
        ExpectDecode(contract, image, 0, image.pool.bytes, fault.options),
        image.steps[0]);
    std::vector<Check> checks;
    JudgeDecode(contract, image, 0, image.pool.bytes, seen, &checks);
    for (const Check& check : checks) {
      if (!IsFailure(check.verdict)) continue;
      const Diagnosis d =
          DiagnoseDecode(contract, image, 0, image.pool.bytes, seen, check);
      named.push_back(d.key == key ||
                      std::count(d.also.begin(), d.also.end(), key) > 0);
      break;
    }
  }
  return named;
}

// Whether what the right kernel leaves behind speaks against the fault.
bool IsRuledOut(const Case& c, const std::string& key) {
  const CaseImage image = *BuildImage(c);
  const Contract contract = BuiltinContract(image.pool.layout);
  const StepObservation right = Observe(
      ExpectDecode(contract, image, 0, image.pool.bytes), image.steps[0]);
  return RulesOutDecodeFault(contract, image, 0, image.pool.bytes, right, key);
}

void ExpectNamed(const Case& c, const std::string& key) {
  EXPECT_EQ(NamedIn(c, key), std::vector<bool>{true}) << key;
  EXPECT_TRUE(IsRuledOut(c, key)) << key;
}

TEST(DecodeFaults, ASecondCacheTakenToBeLikeTheFirst) {
  Case c = PlainCase(DSV4_FOOTER_584);
  ExpectNamed(c, oracle::kExtraWidth);
  // Footers are looked for behind 4 rows, where the fifth one's codes are: of
  // 2, as scales.
  ExtraCache& extra = *CallOf(c).mutable_extra();
  extra.mutable_pool()->set_page_size(8);
  extra.mutable_indices()->set_limit(4);
  Patch& patch = *extra.mutable_pool()->add_patches();
  patch.set_slot(4);
  patch.set_data(std::string(64, '\x80'));
  ExpectNamed(c, oracle::kExtraFooters);
}

// Of scales that are left out on one side or the other, and of rope. The ends
// of a scale byte show in no such case, so that none is ruled out.
TEST(DecodeFaults, ARuleOfOneCacheAlone) {
  for (const char* key :
       {oracle::kExtraReadOtherwise, oracle::kFirstReadOtherwise}) {
    const Case c = PlainCase(DSV4_FOOTER_584);
    EXPECT_EQ(NamedIn(c, key), std::vector<bool>(3, true)) << key;
    EXPECT_FALSE(IsRuledOut(c, key)) << key;
  }
}

TEST(DecodeFaults, NoSecondCacheNoFaultOfIt) {
  for (const char* key :
       {oracle::kExtraReadOtherwise, oracle::kFirstReadOtherwise,
        oracle::kExtraFooters, oracle::kExtraWidth}) {
    EXPECT_TRUE(NamedIn(PlainCase(FP8_DS_MLA), key).empty()) << key;
  }
}

TEST(DecodeFaults, LengthsOfOthers) {
  Case c = PlainCase(FP8_DS_MLA);
  SetLengths({3, 1, 2, 3}, c);
  ExpectNamed(c, oracle::kLengthOfRequest);
  SetLengths({3, 0, 2, 3}, c);
  ExpectNamed(c, oracle::kZeroLength);
  // Of one request it is the first query's; without requests there is none.
  CallOf(c).set_query_length(4);
  ExpectNamed(c, oracle::kLengthOfRequest);
  CallOf(c).set_query_length(1);
  EXPECT_TRUE(NamedIn(c, oracle::kLengthOfRequest).empty());
}

TEST(DecodeFaults, ARowWithoutKeysHasItsSink) {
  Case c = PlainCase(FP8_DS_MLA);
  SetLengths({3, 0, 2, 3}, c);
  EXPECT_TRUE(NamedIn(c, oracle::kEmptyRowSink).empty());
  CallOf(c).add_sink_bits(0x3f800000);
  CallOf(c).add_sink_bits(0xbf800000);
  ExpectNamed(c, oracle::kEmptyRowSink);
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
  ExpectNamed(c, oracle::kUnevenDropped);
  d.set_splits(5);
  EXPECT_TRUE(NamedIn(c, oracle::kUnevenDropped).empty());
}

}  // namespace
}  // namespace mlafuzz
