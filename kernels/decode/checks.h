#ifndef MLAFUZZ_KERNELS_DECODE_CHECKS_H_
#define MLAFUZZ_KERNELS_DECODE_CHECKS_H_

#include <string>

#include "kernels/decode/params.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Rows that a decode reads, as its host has to know them.
struct DecodeShape {
  Layout layout = FP8_DS_MLA;
  std::int64_t token_bytes = 656;  // the cache tensor's last dimension
  // Rope values behind a row's 512, which q may have columns for.
  std::int64_t rope_beyond = 64;
  bool extra = false;  // a second cache is taken
};

// What the host looks at before it launches a decode. An empty string, or the
// reason for refusing in words with the numbers, first fault first: "pe_dim
// must be 0 or 64, got 32".
//
// Refuses: another layout; q not bf16 or of 512 + pe_dim columns with pe_dim
// other than 0 and the rope beyond; heads outside 1..128; a cache of other
// bytes a token or off 16 bytes; q, indices, lengths, out and lse that disagree
// about the queries, sinks, out and lse about the heads; negative splits; a
// second cache that is not taken, without indices, or wrong in one of these
// ways. A stride counts only where it is used.
std::string WhyRefuseDecode(const DecodeArgs& args,
                            const DecodeShape& shape = {});

// Checked arguments as the kernels take them. The rules of DecodeOptions,
// `lanes`, `splits` and the partials are left to the launch.
kernels::DecodeParams ToParams(const DecodeArgs& args);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_CHECKS_H_
