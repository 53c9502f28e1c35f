#ifndef MLAFUZZ_ORACLE_DECODE_EMULATED_FLOATS_H_
#define MLAFUZZ_ORACLE_DECODE_EMULATED_FLOATS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// The emulated kernel's own codecs: nothing is shared with the oracle's.
namespace mlafuzz::emulated {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

inline float FromBits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

inline std::uint32_t ToBits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

inline float Bf16ToFloat(std::uint16_t bits) {
  return FromBits(static_cast<std::uint32_t>(bits) << 16);
}

// Nearest even.
inline float ToBf16(float x) {
  if (std::isnan(x)) return kNan;
  std::uint32_t bits = ToBits(x);
  const std::uint32_t rest = bits & 0xffff;
  bits &= 0xffff0000;
  if (rest > 0x8000 || (rest == 0x8000 && (bits & 0x10000) != 0)) {
    bits += 0x10000;
  }
  return FromBits(bits);
}

inline float E4m3Value(int code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  float x =
      exponent == 15 && fraction == 7
          ? kNan
          : (exponent == 0 ? std::ldexp(fraction / 8.0f, -6)
                           : std::ldexp(1 + fraction / 8.0f, exponent - 7));
  return (code & 0x80) != 0 ? -x : x;
}

// Nearest even by search over all codes, saturating.
inline float ToE4m3(float x) {
  if (std::isnan(x)) return kNan;
  const float magnitude = std::fabs(x);
  if (magnitude >= 448) return std::copysign(448.0f, x);
  int low = 0, high = 0x7e;  // E4m3Value(low) <= magnitude < E4m3Value(high)
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (E4m3Value(middle) <= magnitude ? low : high) = middle;
  }
  const double down = static_cast<double>(magnitude) - E4m3Value(low);
  const double up = static_cast<double>(E4m3Value(high)) - magnitude;
  const int code =
      down < up ? low : (up < down ? high : (low & 1 ? high : low));
  return std::copysign(E4m3Value(code), x);
}

}  // namespace mlafuzz::emulated

#endif  // MLAFUZZ_ORACLE_DECODE_EMULATED_FLOATS_H_
