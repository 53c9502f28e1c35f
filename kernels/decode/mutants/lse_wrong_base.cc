// The LSE is natural where base 2 is promised: off by a factor of ln 2, and
// what is merged with it is weighed wrongly.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float LseToStore(const kernels::DecodeParams&, float lse) {
    return lse * kernels::kLn2;
  }
};

}  // namespace

CompiledDecode LseWrongBase() {
  return DecodeTwin<Policy>("mutant:lse-wrong-base",
                            "decode returns a natural LSE for one in base 2");
}

}  // namespace mlafuzz
