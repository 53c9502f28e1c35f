#ifndef MLAFUZZ_KERNELS_BUILTIN_H_
#define MLAFUZZ_KERNELS_BUILTIN_H_

#include "kernels/compiled_target.h"

namespace mlafuzz {

// "builtin": this project's own kernels, raw scales (BuiltinContract()).
CompiledTarget Builtin();
// "builtin:pow2": the same with power-of-two scales.
CompiledTarget BuiltinPow2();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_BUILTIN_H_
