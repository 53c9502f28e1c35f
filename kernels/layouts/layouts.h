#ifndef MLAFUZZ_KERNELS_LAYOUTS_LAYOUTS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_LAYOUTS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// "builtin:indexer" and the like: this project's writers and gathers of the
// layouts beside the 656-byte row, one target a convention.
std::vector<CompiledTarget> LayoutTargets();

// "builtin:byte-gather" and the like: gathers that take no tile scales.
std::vector<CompiledTarget> RowGatherTargets();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_LAYOUTS_H_
