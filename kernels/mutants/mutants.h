#ifndef MLAFUZZ_KERNELS_MUTANTS_MUTANTS_H_
#define MLAFUZZ_KERNELS_MUTANTS_MUTANTS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// Wrong twins: each is the clean kernel with one decision changed. The first of
// them stand alone, in the file of their name; the others in families, in the
// file of the family's name.

// Writers.
CompiledTarget NopeStaleTail();
CompiledTarget Fp16BitAmax();
CompiledTarget WriterNegativeSlot();
CompiledTarget PayloadFallthrough();
CompiledTarget ScaleReciprocal();

// Gathers.
CompiledTarget GatherStaleTail();
CompiledTarget GatherDropsPages();
CompiledTarget TableRowFromShape();
CompiledTarget MissingSyncwarp();

// Index conversion.
CompiledTarget IndexZeroForInvalid();

// Impostors: no kernels at all, which a harness must not take for right ones.
CompiledTarget DoesNothing();
CompiledTarget RefusesAll();
CompiledTarget ReturnsInputs();

// Controls: right, but made in another way. Never to be flagged.
CompiledTarget ThreadMapping();

// Families.
std::vector<CompiledTarget> WriterScaleMutants();
std::vector<CompiledTarget> WriterCodeMutants();
std::vector<CompiledTarget> WriterRopeMutants();
std::vector<CompiledTarget> WriterAddressMutants();
std::vector<CompiledTarget> WriterStateMutants();
std::vector<CompiledTarget> GatherPageMutants();
std::vector<CompiledTarget> GatherValueMutants();
std::vector<CompiledTarget> GatherStateMutants();
std::vector<CompiledTarget> ConvertMutants();
std::vector<CompiledTarget> Controls();

// All of them.
std::vector<CompiledTarget> Mutants();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_MUTANTS_MUTANTS_H_
