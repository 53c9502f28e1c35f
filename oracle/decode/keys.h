#ifndef MLAFUZZ_ORACLE_DECODE_KEYS_H_
#define MLAFUZZ_ORACLE_DECODE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/split_weights.h"
#include "oracle/layout.h"
#include "oracle/token_place.h"

namespace mlafuzz::oracle {

// One lane of an index row that is not masked.
struct Key {
  std::int64_t lane;  // those of the second row follow the first's
  std::int64_t slot;
  std::int64_t at;  // of the row in its cache's bytes; -1: outside of it
  std::int64_t behind = 0;  // of what lies behind all rows of the page
  bool extra = false;       // named by the second index row
  bool in_extra = false;    // read from the second cache
};

// The caches that a call reads: the pool, and a second one where it has one.
class Caches {
 public:
  // `pool_bytes`: the pool before the step. All must outlive this.
  Caches(const PoolImage& pool, absl::Span<const std::uint8_t> pool_bytes,
         const StepImage& step);

  const RowLayout& layout() const { return layout_; }
  // The token's bytes in one run; `buffer` serves where they lie in two.
  const std::uint8_t* Token(const Key& key, TokenBytes* buffer) const;
  // The key that slot 0 would be; `at` is -1 where it is not there.
  Key Slot0(bool extra) const;

 private:
  const RowLayout& layout_;
  const PoolImage& pool_;
  const PoolImage& extra_;
  absl::Span<const std::uint8_t> bytes_;
  absl::Span<const std::uint8_t> extra_bytes_;
};

// The keys of one query and the order in which they are met.
struct KeyPlan {
  std::vector<Key> keys;          // in lane order
  std::int64_t masked = 0;        // lanes of the rows that are masked
  std::int64_t masked_extra = 0;  // of these, those of the second row
  std::int64_t outside = 0;       // rows that are read and are not in the pool
  // Where the first of these would lie (kMostOutside of them), each negative
  // slot under division toward zero and toward minus infinity.
  struct Outside {
    TokenPlace place;
    bool in_extra = false;
  };
  static constexpr std::size_t kMostOutside = 4096;
  std::vector<Outside> outside_at;
  // Lanes past the length whose rows are read all the same; see ExpectOptions.
  std::vector<Key> read_past_length;
  // Known: the splits, and each one's blocks (all of them, empty ones too).
  // Unknown: one split of one block; blocks and splits may be anything.
  bool known = false;
  struct Split {
    KeyRange keys;
    std::vector<KeyRange> blocks;
    std::int64_t masked = 0;  // its lanes that are masked
    std::int64_t masked_extra = 0;
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

// The step's second index row, where it has one that counts; else nullptr.
const Tensor* ExtraIndices(const DecodeContract& contract,
                           const StepImage& step);

// Lanes of query `query`'s second index row that count.
std::int64_t ExtraActiveLanes(const DecodeContract& contract,
                              const StepImage& step, std::int64_t query);

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
