#ifndef MLAFUZZ_KERNELS_WORKSPACE_H_
#define MLAFUZZ_KERNELS_WORKSPACE_H_

#include "kernels/compiled_target.h"

namespace mlafuzz {

// "builtin:workspace": an index conversion whose prefill rows address a
// workspace, and whose table may name any page.
CompiledTarget Workspace();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_WORKSPACE_H_
