// Without rope, the reserved tail of a row still meets 64 values of q: the last
// ones there are.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ int TailMeets(const kernels::DecodeParams& params) {
    return params.rope ? DecodePolicy::TailMeets(params)
                       : kernels::kLatent - kernels::kRope;
  }
};

}  // namespace

CompiledDecode TailReadAsRope() {
  return DecodeTwin<Policy>(
      "mutant:tail-read-as-rope",
      "decode without rope reads the reserved tail of rows");
}

}  // namespace mlafuzz
