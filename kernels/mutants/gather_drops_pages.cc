// The gather's grid has one block for each full page of rows: a request whose
// rows do not fill its first and last page needs more, and loses its last ones.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::GatherPolicy {
  static std::int64_t Blocks(const kernels::GatherParams& params) {
    return GatherPolicy::Blocks(params) - 2 * params.requests;
  }
};

}  // namespace

CompiledTarget GatherDropsPages() {
  return {"mutant:gather-drops-pages",
          "gather launches too few blocks for pages that are not full",
          {.gather = CallGather<Policy>}};
}

}  // namespace mlafuzz
