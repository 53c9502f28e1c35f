// The running maximum starts at -Inf without a guard: -Inf - -Inf is NaN, so a
// first block (of a split) without keys poisons the row.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float Reference(float max) { return max; }
};

}  // namespace

CompiledDecode LeadingBlockNan() {
  return DecodeTwin<Policy>("mutant:leading-block-nan",
                            "decode makes NaN of a first block without keys");
}

}  // namespace mlafuzz
