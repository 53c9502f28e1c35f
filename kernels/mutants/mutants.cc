#include "kernels/mutants/mutants.h"

namespace mlafuzz {

std::vector<CompiledTarget> Mutants() {
  return {
      NopeStaleTail(),       Fp16BitAmax(),       WriterNegativeSlot(),
      PayloadFallthrough(),  ScaleReciprocal(),   GatherStaleTail(),
      GatherDropsPages(),    TableRowFromShape(), MissingSyncwarp(),
      IndexZeroForInvalid(), DoesNothing(),       RefusesAll(),
      ReturnsInputs(),       ThreadMapping(),
  };
}

}  // namespace mlafuzz
