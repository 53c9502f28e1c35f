#include "kernels/mutants/mutants.h"

namespace mlafuzz {

std::vector<CompiledTarget> Mutants() {
  std::vector<CompiledTarget> all = {
      NopeStaleTail(),       Fp16BitAmax(),       WriterNegativeSlot(),
      PayloadFallthrough(),  ScaleReciprocal(),   GatherStaleTail(),
      GatherDropsPages(),    TableRowFromShape(), MissingSyncwarp(),
      IndexZeroForInvalid(), DoesNothing(),       RefusesAll(),
      ReturnsInputs(),       ThreadMapping(),
  };
  for (const auto family :
       {WriterScaleMutants, WriterCodeMutants, WriterRopeMutants,
        WriterAddressMutants, WriterStateMutants, GatherPageMutants,
        GatherValueMutants, GatherStateMutants, ConvertMutants, Controls}) {
    for (const CompiledTarget& target : family()) all.push_back(target);
  }
  return all;
}

}  // namespace mlafuzz
