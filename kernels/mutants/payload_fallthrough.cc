// The conversion of the payload falls through to a cast that keeps the input's
// high byte. Scales and rope stay right, so checks on those alone see nothing.
// After a real fault: a scalar type without a specialised fp8 conversion.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float) {
    return bits >> 8;
  }
};

}  // namespace

CompiledTarget PayloadFallthrough() {
  return {"mutant:payload-fallthrough",
          "writer stores the high byte of each value instead of its code",
          {.write = CallWriter<Policy>}};
}

}  // namespace mlafuzz
