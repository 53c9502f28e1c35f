// The gather uses a row's scales without waiting for the lanes that stage them.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::GatherPolicy {
  static __device__ void PublishScales() {}
};

}  // namespace

CompiledTarget MissingSyncwarp() {
  return {"mutant:missing-syncwarp",
          "gather reads the row's scales before all are staged",
          {.gather = CallGather<Policy>}};
}

}  // namespace mlafuzz
