// The example writer, right but for damage that has nothing to do with any rule
// of a contract: DAMAGE says which.
#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

// examples/writer.cc is built with its entry under another name.
#undef mlafuzz_target
#include "kernels/target.h"

extern "C" const MlafuzzTarget* example_target(void);

namespace {

enum Damage {
  kBehind = 1,  // writes 24 bytes behind the pool
  kBefore,      // writes 24 bytes before the pool
  kThrows,      // calls of three tokens and more throw
  kOnce,        // the third call of a process leaves a wrong scale
  kDiesOnce,    // the fortieth call of a process crashes: more than a case has
  kEverySixth,  // every sixth call of a process leaves a wrong scale
  kRoundsUp,    // computes in another rounding mode
  kOneBlock,    // stores 256 tokens of a call, as one block of threads would
  kNarrowRope,  // keeps 8 bits of the stride of k_pe's rows
};

int32_t Write(const MlafuzzCall* call, const MlafuzzWrite* args) {
  static int calls = 0;
  ++calls;
  const DLTensor& cache = *args->cache;
  auto* pool = static_cast<uint8_t*>(cache.data);
  if (DAMAGE == kDiesOnce && calls == 40) *(volatile int*)8 = 1;
  if (DAMAGE == kThrows && args->slot_mapping->shape[0] >= 3) {
    throw std::runtime_error("three tokens are too many");
  }
  if (DAMAGE == kRoundsUp) std::fesetround(FE_UPWARD);
  MlafuzzWrite other = *args;
  DLTensor list = *args->slot_mapping, rope = {};
  int64_t tokens = list.shape[0], rope_strides[2] = {};
  if (DAMAGE == kOneBlock) {
    tokens = std::min<int64_t>(tokens, 256);
    list.shape = &tokens;
    other.slot_mapping = &list;
  }
  if (DAMAGE == kNarrowRope && args->k_pe != nullptr) {
    rope = *args->k_pe;
    rope_strides[0] = rope.strides[0] & 255;
    rope_strides[1] = rope.strides[1];
    rope.strides = rope_strides;
    other.k_pe = &rope;
  }
  const int32_t status = example_target()->write(call, &other);
  std::fesetround(FE_TONEAREST);
  if (status != MLAFUZZ_OK) return status;
  if (DAMAGE == kBehind && cache.shape[0] > 0) {
    const int64_t end = (cache.shape[0] - 1) * cache.strides[0] +
                        (cache.shape[1] - 1) * cache.strides[1] +
                        cache.shape[2];
    std::memset(pool + end, 0x11, 24);
  }
  if (DAMAGE == kBefore) std::memset(pool - 24, 0x11, 24);
  const bool wrong = (DAMAGE == kOnce && calls == 3) ||
                     (DAMAGE == kEverySixth && calls % 6 == 0);
  if (wrong) {
    for (int64_t token = 0; token < args->slot_mapping->shape[0]; ++token) {
      const int64_t slot = static_cast<const int64_t*>(
          args->slot_mapping->data)[token * args->slot_mapping->strides[0]];
      if (slot < 0) continue;
      pool[slot / cache.shape[1] * cache.strides[0] +
           slot % cache.shape[1] * cache.strides[1] + 515] ^= 0x40;
    }
  }
  return MLAFUZZ_OK;
}

}  // namespace

const MlafuzzTarget* mlafuzz_target(void) {
  static const MlafuzzTarget target = {sizeof(MlafuzzTarget),
                                       MLAFUZZ_TARGET_ABI,
                                       example_target()->description,
                                       Write,
                                       nullptr,
                                       nullptr,
                                       nullptr};
  return &target;
}
