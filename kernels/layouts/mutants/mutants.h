#ifndef MLAFUZZ_KERNELS_LAYOUTS_MUTANTS_MUTANTS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_MUTANTS_MUTANTS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// Wrong twins of the kernels of //kernels/layouts, each with one decision
// changed, in the file of its layout.
std::vector<CompiledTarget> IndexerMutants();
std::vector<CompiledTarget> FooterMutants();
std::vector<CompiledTarget> FooterDecodeMutants();
std::vector<CompiledTarget> RowGatherMutants();

// All of them.
std::vector<CompiledTarget> LayoutMutants();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_MUTANTS_MUTANTS_H_
