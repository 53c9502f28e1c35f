// Number formats as the published tests' references convert them: in fp32, one
// value at a time.
#ifndef MLAFUZZ_BASELINES_FORMATS_H_
#define MLAFUZZ_BASELINES_FORMATS_H_

#include <bit>
#include <cstdint>

namespace mlafuzz::baselines {

inline float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Nearest, ties to even; NaN is 0x7FC0, as torch has it.
inline std::uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float RoundToBf16(float value) { return FromBf16(ToBf16(value)); }

// Through fp16, nearest even; overflow is infinite.
float RoundToFp16(float value);

// The value of an E4M3 code; 0x7F and 0xFF are NaN.
float FromE4m3(std::uint8_t code);

// Nearest, ties to even, saturating at 448; NaN is 0x7F.
std::uint8_t ToE4m3(float value);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_FORMATS_H_
