// The writer takes pe_dim 0 and leaves the row's tail as it was: every reader
// of the whole row then sees what another owner of the slot left there.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::WriterPolicy {
  static __device__ void WriteTail(const kernels::WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr) return;
    WriterPolicy::WriteTail(params, token, row, lane);
  }
};

}  // namespace

CompiledTarget NopeStaleTail() {
  return {"mutant:nope-stale-tail",
          "writer leaves the tail of a row without rope as it was",
          {.write = CallWriter<Policy>}};
}

}  // namespace mlafuzz
