// The writer takes the bit patterns of fp16 values for integers when it looks
// for the largest one: 1.0 counts 15360, and every negative value more than
// any positive one. A real fault of an fp8_ds_mla writer; bf16 is right.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::WriterPolicy {
  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    if constexpr (Input::kIsFp16) return static_cast<float>(bits);
    return WriterPolicy::Magnitude<Input>(bits);
  }
};

}  // namespace

CompiledTarget Fp16BitAmax() {
  return {"mutant:fp16-bit-amax",
          "writer scales fp16 by the largest bit pattern as an integer",
          {.write = CallWriter<Policy>}};
}

}  // namespace mlafuzz
