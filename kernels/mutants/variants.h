#ifndef MLAFUZZ_KERNELS_MUTANTS_VARIANTS_H_
#define MLAFUZZ_KERNELS_MUTANTS_VARIANTS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// Wrong twins of the targets of kernels/writers.h, kernels/compacting.h and
// kernels/workspace.h.
std::vector<CompiledTarget> OtherWriterMutants();
std::vector<CompiledTarget> CompactingMutants();
std::vector<CompiledTarget> WorkspaceMutants();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_MUTANTS_VARIANTS_H_
