#ifndef MLAFUZZ_ORACLE_LAYOUTS_INTERLEAVED_ROPE_H_
#define MLAFUZZ_ORACLE_LAYOUTS_INTERLEAVED_ROPE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace mlafuzz::oracle {

// The rotation that vLLM's DeepSeek-V4 insert gives a token's rope values:
// neighbours (a, b) become (a cos - b sin, a sin + b cos), in fp32, then bf16
// (nearest even; any NaN as 0x7FFF). `cos_sin`: half as many cosines as there
// are values, then as many sines. Exact where the products are (quarter turns);
// for other angles a kernel's compiler may fuse a product and a sum.
void RotateInterleaved(absl::Span<const std::uint16_t> values,
                       absl::Span<const float> cos_sin,
                       absl::Span<std::uint16_t> rotated);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_INTERLEAVED_ROPE_H_
