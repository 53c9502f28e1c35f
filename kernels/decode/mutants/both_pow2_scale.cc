// Logits and values take the exponent of a tile's scale alone: a reader made
// for a writer of powers of two.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float QkScale(const kernels::DecodeParams&, float stored) {
    return kernels::Pow2FloorScale(stored);
  }
  static __device__ float VScale(const kernels::DecodeParams&, float stored) {
    return kernels::Pow2FloorScale(stored);
  }
};

}  // namespace

CompiledDecode BothPow2Scale() {
  return DecodeTwin<Policy>("mutant:both-pow2-scale",
                            "decode keeps only the exponent of scales");
}

}  // namespace mlafuzz
