// The gather takes the number of columns for the distance between rows of the
// block table: wrong for a view of a wider or an expanded one.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::GatherPolicy {
  static __device__ std::int64_t TableRowStride(
      const kernels::GatherParams& params) {
    return params.table_columns;
  }
};

}  // namespace

CompiledTarget TableRowFromShape() {
  return {"mutant:table-row-from-shape",
          "gather steps through the block table by its columns",
          {.gather = CallGather<Policy>}};
}

}  // namespace mlafuzz
