// The running softmax, and the scale of its scores.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::DecodePolicy;

struct SumNotRescaled : DecodePolicy {
  static __device__ float SumRescale(float) { return 1.0f; }
};

struct LastBlockNotRescaled : DecodePolicy {
  static __device__ float MixRescale(float rescale, bool last_block) {
    return last_block ? 1.0f : rescale;
  }
};

// Exact but for roundings, as long as nothing overflows.
struct MaxOverHalf : DecodePolicy {
  static __device__ float LaneMax(float first, float) { return first; }
};
struct NoMax : DecodePolicy {
  static __device__ float RunningMax(float max) {
    return max == -INFINITY ? max : 0.0f;
  }
};

void ScaleTwice(DecodeParams& params) {
  params.scale_log2 = params.scale_log2 * params.scale_log2 / kernels::kLog2E;
}
void BaseTwoForE(DecodeParams& params) { params.scale_log2 /= kernels::kLog2E; }
void Log2ETwice(DecodeParams& params) { params.scale_log2 *= kernels::kLog2E; }

}  // namespace

std::vector<CompiledDecode> SoftmaxFaults() {
  return {
      DecodeTwin<SumNotRescaled>("mutant:sum-not-rescaled",
                                 "decode does not rescale the sum of weights "
                                 "when the maximum grows"),
      DecodeTwin<LastBlockNotRescaled>("mutant:last-block-not-rescaled",
                                       "decode does not rescale the output "
                                       "before the last block"),
      DecodeTwin<MaxOverHalf>("mutant:max-over-half-block",
                              "decode takes the maximum over half a block"),
      DecodeTwin<NoMax>("mutant:max-not-subtracted",
                        "decode does not subtract the maximum"),
      DecodeHostTwin<ScaleTwice>("mutant:softmax-scale-twice",
                                 "decode applies the softmax scale twice"),
      DecodeHostTwin<BaseTwoForE>("mutant:softmax-in-base-2",
                                  "decode takes powers of 2 for powers of e"),
      DecodeHostTwin<Log2ETwice>("mutant:log2e-twice",
                                 "decode multiplies scores by log2(e) twice"),
  };
}

}  // namespace mlafuzz
