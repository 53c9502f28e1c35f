// Lanes that do not wait for each other, or that wait for some that never come.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodePolicy;
using kernels::SplitMemory;

struct ScoresNotAwaited : DecodePolicy {
  static __device__ void ScoresStaged() {}
};

struct WeightsNotAwaited : DecodePolicy {
  static __device__ void WeightsStaged() {}
};

// A warp without a key has nothing to wait for, it thinks.
struct IdleWarpGoesOn : DecodePolicy {
  static __device__ void BlockMixed(const SplitMemory& shared, int first_key) {
    for (int i = 0; i < kernels::kBlockKeys / kernels::kWarps; ++i) {
      if (shared.rows[first_key + i] < 0) continue;
      __syncthreads();
      return;
    }
  }
};

}  // namespace

std::vector<CompiledDecode> BarrierFaults() {
  return {
      DecodeTwin<ScoresNotAwaited>("mutant:scores-not-awaited",
                                   "decode takes the maximum before all scores "
                                   "are there"),
      DecodeTwin<WeightsNotAwaited>("mutant:weights-not-awaited",
                                    "decode mixes values before all weights "
                                    "are there"),
      DecodeTwin<IdleWarpGoesOn>("mutant:idle-warp-skips-barrier",
                                 "decode lets warps without keys pass a "
                                 "barrier that others wait at"),
  };
}

}  // namespace mlafuzz
