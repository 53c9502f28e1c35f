// The index conversion puts 0 where an index names no slot: slot 0 is
// somebody's row.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::ConvertPolicy {
  static __device__ std::int32_t Invalid() { return 0; }
};

}  // namespace

CompiledTarget IndexZeroForInvalid() {
  return {"mutant:index-zero-for-invalid",
          "index conversion puts 0 in the place of an invalid index",
          {.convert = CallConvert<Policy>}};
}

}  // namespace mlafuzz
