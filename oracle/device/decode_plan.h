#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_PLAN_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/device/decode_room.h"
#include "oracle/device/decode_rules.h"

namespace mlafuzz::oracle {

// A decode's rules for a step as numbers, but for `sinks`. nullopt where
// ExpectDecode() alone knows what comes of it: a second cache, arithmetic of
// which query or dequantisation is not declared, a softmax scale that promises
// nothing, rows that are not decoded.
std::optional<DecodeRules> DecodeRulesOf(const Contract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step);

// Where a member's bytes lie. `pool`: of byte 0 of PoolImage::bytes, which may
// lie before the memory (modulo 2^64).
struct DecodePlace {
  std::uint64_t pool;
  std::uint64_t q;
  std::int64_t q_elements;  // of the member's own
  std::uint64_t out;
  std::uint64_t lse;
};

// What the queries of one member or of several meet, as DecodeRow takes it.
struct DecodePlan {
  std::vector<DecodeQuery> queries;
  std::vector<DecodeKey> keys;
  std::vector<KeyRange> blocks;
  std::vector<DecodeSplit> splits;

  // Adds all queries of a step, or none and false where ExpectDecode() alone
  // knows what comes of one: a row outside the pool, a block that makes NaN.
  // `rules`: of the step.
  bool Add(const Contract& contract, const DecodeRules& rules,
           const PoolImage& pool, const StepImage& step,
           const DecodePlace& place);

  DecodeMost Most(const DecodeRules& rules) const;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_PLAN_H_
