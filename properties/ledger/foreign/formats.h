// Number formats of the 656-byte row, for the foreign kernels of this folder:
// written from the formats' definitions, shared with no other room.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_FORMATS_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_FORMATS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace wild {

// Bytes of a row, and where its parts begin.
constexpr int kLatent = 512;
constexpr int kTile = 128;
constexpr int kScaleAt = 512;
constexpr int kRopeAt = 528;
constexpr int kRope = 64;

inline float FromBf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// To nearest even; every NaN is 0x7fff.
inline uint16_t ToBf16(float x) {
  if (std::isnan(x)) return 0x7fff;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float value = exponent == 0
                    ? std::ldexp(float(mantissa), -24)
                    : std::ldexp(float(1024 + mantissa), exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}

inline float FromE4m3(uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  float value = exponent == 0 ? std::ldexp(float(mantissa), -9)
                              : std::ldexp(float(8 + mantissa), exponent - 10);
  if ((code & 127) == 127) value = NAN;
  return (code & 128) != 0 ? -value : value;
}

// To nearest even, saturating at +-448; NaN is 0x7f.
inline uint8_t ToE4m3(float x) {
  if (std::isnan(x)) return 0x7f;
  const float a = std::min(std::fabs(x), 448.0f);
  const int exponent = a < 0x1p-6f ? -6 : std::ilogb(a);
  const float steps = std::nearbyint(std::ldexp(a, 3 - exponent));
  return uint8_t((std::signbit(x) ? 128 : 0) + (exponent + 6) * 8 + int(steps));
}

}  // namespace wild

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_FORMATS_H_
