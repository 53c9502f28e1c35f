// The gather copies the tail of rows that carry no rope: whatever another
// writer left there becomes rope in the workspace.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::GatherPolicy {
  static __device__ unsigned TailPair(const std::uint8_t* row, unsigned lane,
                                      bool) {
    return GatherPolicy::TailPair(row, lane, /*nope=*/false);
  }
};

}  // namespace

CompiledTarget GatherStaleTail() {
  return {"mutant:gather-stale-tail",
          "gather copies the stale tail of rows without rope",
          {.gather = CallGather<Policy>}};
}

}  // namespace mlafuzz
