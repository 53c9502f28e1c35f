#ifndef MLAFUZZ_FUZZ_WORKER_ULPS_H_
#define MLAFUZZ_FUZZ_WORKER_ULPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "corpus/image.h"

namespace mlafuzz {

// How many elements of two tensors lie how far apart.
struct UlpCounts {
  // Equal; up to 1 ulp; 2 to 3; 4 to 15; 16 to 255; more; one is NaN or Inf and
  // the other another value; both are NaN, of other bits.
  static constexpr std::size_t kBuckets = 8;
  static const char* Name(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> counts = {};
  std::int64_t largest = 0;  // ulps
  std::uint64_t different() const;
  // "4 by up to 1 ulp, 1 by 2 to 3; at most 3 ulp", of those that differ.
  std::string Text() const;
};
// Of types other than bf16, f16 and f32 nothing is counted.
UlpCounts CountUlps(DType dtype, absl::Span<const std::uint8_t> a,
                    absl::Span<const std::uint8_t> b);

// How far apart two tensors of floating-point values lie, element by element,
// in units in the last place: the number of values between them, zeros of
// either sign being one. "element 3: 0x3f80 in a, 0x3f81 in b; 5 elements
// differ: 4 by up to 1 ulp, 1 by 2 to 3, ...; at most 3 ulp". Both have the
// bytes of `dtype`, bf16, f16 or f32; "" for other types, or if none differs.
std::string UlpHistogram(DType dtype, absl::Span<const std::uint8_t> a,
                         absl::Span<const std::uint8_t> b);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_ULPS_H_
