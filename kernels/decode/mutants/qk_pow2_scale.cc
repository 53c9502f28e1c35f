// The founding bug: the logits take the exponent of a tile's scale alone, the
// values take all of it. Outputs look right, the LSE does not.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float QkScale(const kernels::DecodeParams&, float stored) {
    return kernels::Pow2FloorScale(stored);
  }
};

}  // namespace

CompiledDecode QkPow2Scale() {
  return DecodeTwin<Policy>(
      "mutant:qk-pow2-scale",
      "decode keeps only the exponent of scales for the logits");
}

}  // namespace mlafuzz
