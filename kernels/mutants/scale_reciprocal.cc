// The writer multiplies by 1/448 instead of dividing by 448: for bf16 maxima,
// 71 of 128 mantissas give a scale that is off by one in the last place.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::WriterPolicy {
  static __device__ float DivideBy448(float amax) {
    return __fmul_rn(amax, 1.0f / 448.0f);
  }
};

}  // namespace

CompiledTarget ScaleReciprocal() {
  return {"mutant:scale-reciprocal",
          "writer multiplies by 1/448 instead of dividing by 448",
          {.write = CallWriter<Policy>}};
}

}  // namespace mlafuzz
