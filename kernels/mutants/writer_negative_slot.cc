// The writer skips slot -1 only; another negative slot is an address in front
// of the pool.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::WriterPolicy {
  static __device__ bool Skips(std::int64_t slot) { return slot == -1; }
};

}  // namespace

CompiledTarget WriterNegativeSlot() {
  return {"mutant:writer-negative-slot",
          "writer skips slot -1 and takes other negative slots for addresses",
          {.write = CallWriter<Policy>}};
}

}  // namespace mlafuzz
