#ifndef MLAFUZZ_FUZZ_WORKER_ULPS_H_
#define MLAFUZZ_FUZZ_WORKER_ULPS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "corpus/image.h"

namespace mlafuzz {

// How far apart two tensors of floating-point values lie, element by element,
// in units in the last place: the number of values between them, zeros of
// either sign being one. "element 3: 0x3f80 in a, 0x3f81 in b; 5 elements
// differ: 4 by up to 1 ulp, 1 by 2 to 3, ...; at most 3 ulp". Both have the
// bytes of `dtype`, bf16, f16 or f32; "" for other types, or if none differs.
std::string UlpHistogram(DType dtype, absl::Span<const std::uint8_t> a,
                         absl::Span<const std::uint8_t> b);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_ULPS_H_
