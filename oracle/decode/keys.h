#ifndef MLAFUZZ_ORACLE_DECODE_KEYS_H_
#define MLAFUZZ_ORACLE_DECODE_KEYS_H_

#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"

namespace mlafuzz::oracle {

// One lane of an index row that is not masked.
struct Key {
  std::int64_t lane;
  std::int64_t slot;
  std::int64_t at;  // of the row in PoolImage::bytes; -1: outside the pool
};

// Keys [first, end) that one part of the work meets.
struct KeyRange {
  int first;
  int end;
};

// The keys of one query and the order in which they are met.
struct KeyPlan {
  std::vector<Key> keys;     // in lane order
  std::int64_t masked = 0;   // lanes of the row that are masked
  std::int64_t outside = 0;  // rows that are read and are not in the pool
  // Lanes past the length whose rows are read all the same; see ExpectOptions.
  std::vector<Key> read_past_length;
  // Known: the splits, and each one's blocks (all of them, empty ones too).
  // Unknown: one split of one block; blocks and splits may be anything.
  bool known = false;
  struct Split {
    KeyRange keys;
    std::vector<KeyRange> blocks;
    std::int64_t masked = 0;  // its lanes that are masked
  };
  std::vector<Split> splits;
};

// Whether masked lanes read slot 0.
bool ReadsSlot0(const DecodeContract& contract);

// Whether the row is NaN because a split starts with a block without keys.
enum class LeadingNan { kNo, kMaybe, kYes };
LeadingNan LeadingNanOf(const DecodeContract& contract, const KeyPlan& plan);

// Lanes of the index row that count at all: its width, or declared_topk where
// that clips.
std::int64_t DecodeWidth(const DecodeContract& contract, const StepImage& step);

// Whether the contract masks an index of this value, wherever it stands.
bool MasksIndex(const DecodeContract& contract, std::int32_t index);

// Lanes of query `query` before its length; the width where no length counts.
std::int64_t ActiveLanes(const DecodeContract& contract, const StepImage& step,
                         std::int64_t query);

KeyPlan PlanKeys(const Contract& contract, const PoolImage& pool,
                 const StepImage& step, std::int64_t query,
                 const ExpectOptions& options);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_KEYS_H_
