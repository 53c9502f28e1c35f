#ifndef MLAFUZZ_PROPERTIES_FUSED_FILL_CALL_H_
#define MLAFUZZ_PROPERTIES_FUSED_FILL_CALL_H_

#include <cstdint>

#include "corpus/pool_words.h"

namespace mlafuzz {

// What MlafuzzLender::fill is told: plain numbers. Behind it in the lender's
// rows lie, one after the other, a PoolToFill a pool, all PoolPatches in the
// order of pools, and the patches' bytes.

// One pool of the call.
struct PoolToFill {
  PoolFilling filling;
  std::uint64_t at;           // of the pool's byte 0, in the memory
  std::uint64_t first_patch;  // among all
  std::uint64_t patches;      // laid over what is filled, in their order
};

// Bytes that lie together.
struct PoolPatch {
  std::uint64_t at;     // in the memory
  std::uint64_t from;   // among the patches' bytes
  std::uint64_t count;  // bytes
};

struct FillCall {
  PoolShape shape;
  std::uint64_t pools;
  std::uint64_t patches;
  std::uint64_t patch_bytes;
  std::uint64_t most_bytes;  // of one pool

  std::uint64_t patches_at() const { return pools * sizeof(PoolToFill); }
  std::uint64_t bytes_at() const {
    return patches_at() + patches * sizeof(PoolPatch);
  }
  // Of the whole plan.
  std::uint64_t plan_bytes() const { return bytes_at() + patch_bytes; }
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_FILL_CALL_H_
