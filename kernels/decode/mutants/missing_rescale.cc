// What earlier blocks have mixed keeps its weight when the running maximum
// grows; their share of the sum does not.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float MixRescale(float, bool) { return 1.0f; }
};

}  // namespace

CompiledDecode MissingRescale() {
  return DecodeTwin<Policy>(
      "mutant:missing-rescale",
      "decode does not rescale the output when the maximum grows");
}

}  // namespace mlafuzz
