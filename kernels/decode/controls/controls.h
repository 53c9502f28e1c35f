#ifndef MLAFUZZ_KERNELS_DECODE_CONTROLS_CONTROLS_H_
#define MLAFUZZ_KERNELS_DECODE_CONTROLS_CONTROLS_H_

#include <vector>

#include "kernels/decode/compiled_decode.h"

namespace mlafuzz {

// Right decodes that compute in another way than builtin, each with the
// arithmetic that it declares: a judge that flags one is wrong. All keep
// builtin's rules: raw scales (one apart), LSE in base 2 with the sink in it,
// -Inf for a row without keys.
std::vector<CompiledDecode> DecodeControls();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_CONTROLS_CONTROLS_H_
