#ifndef MLAFUZZ_KERNELS_COMPACTING_H_
#define MLAFUZZ_KERNELS_COMPACTING_H_

#include "kernels/compiled_target.h"

namespace mlafuzz {

// "builtin:compacting": an index conversion that puts valid entries first and
// takes any request id. A kernel of no layout.
CompiledTarget Compacting();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_COMPACTING_H_
