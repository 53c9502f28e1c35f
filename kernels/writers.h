#ifndef MLAFUZZ_KERNELS_WRITERS_H_
#define MLAFUZZ_KERNELS_WRITERS_H_

#include <vector>

#include "kernels/compiled_target.h"

namespace mlafuzz {

// Other writers of the 656-byte row:
//   "builtin:kimi-k3"       8 lanes of 16 values a tile; builtin's rows, byte
//                           for byte. Rows with rope alone.
//   "builtin:triton"        the fused DeepSeek-V3.2 store: amax * (1/448).
//                           bf16, rows with rope alone.
//   "builtin:triton-pow2"   the same with power-of-two scales.
std::vector<CompiledTarget> WriterTargets();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_WRITERS_H_
