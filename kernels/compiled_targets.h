#ifndef MLAFUZZ_KERNELS_COMPILED_TARGETS_H_
#define MLAFUZZ_KERNELS_COMPILED_TARGETS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// All targets that are compiled in, builtin first: for the host or, in the
// variant for GPUs, for those.
const std::vector<CompiledTarget>& CompiledTargets();

// What a target promises.
Contract ContractOf(const CompiledTarget& compiled);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_COMPILED_TARGETS_H_
