#ifndef MLAFUZZ_KERNELS_DECODE_CHECKS_H_
#define MLAFUZZ_KERNELS_DECODE_CHECKS_H_

#include <string>

#include "kernels/decode/params.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// What the host looks at before it launches a decode. An empty string, or the
// reason for refusing in words with the numbers, first fault first: "pe_dim
// must be 0 or 64, got 32".
//
// Refuses: a layout other than FP8_DS_MLA; q not bf16 or of 512 + pe_dim
// columns with pe_dim other than 0 and 64; heads outside 1..128; a cache row
// other than 656 bytes or off 16 bytes; q, indices, lengths, out and lse that
// disagree about the queries, sinks, out and lse about the heads; negative
// splits. A stride counts only where it is used.
std::string WhyRefuseDecode(const DecodeArgs& args);

// Checked arguments as the kernels take them. The rules of DecodeOptions,
// `lanes`, `splits` and the partials are left to the launch.
kernels::DecodeParams ToParams(const DecodeArgs& args);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_CHECKS_H_
