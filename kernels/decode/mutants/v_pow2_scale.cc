// The values take the exponent of a tile's scale alone.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float VScale(const kernels::DecodeParams&, float stored) {
    return kernels::Pow2FloorScale(stored);
  }
};

}  // namespace

CompiledDecode VPow2Scale() {
  return DecodeTwin<Policy>(
      "mutant:v-pow2-scale",
      "decode keeps only the exponent of scales for the values");
}

}  // namespace mlafuzz
