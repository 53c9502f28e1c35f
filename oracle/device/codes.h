#ifndef MLAFUZZ_ORACLE_DEVICE_CODES_H_
#define MLAFUZZ_ORACLE_DEVICE_CODES_H_

#include <bit>
#include <cstdint>

#include "oracle/device/device_code.h"
#include "oracle/round_bits.h"

// The oracle's codecs, for the host and for GPUs: oracle/e4m3.h, half.h, bf16.h
// and quantise.h say what they promise.
namespace mlafuzz::oracle {

inline constexpr int kE4m3FractionBits = 3;
inline constexpr int kE4m3MinExponent = -6;  // of subnormals and field 1

template <Rounding rounding>
MLAFUZZ_ORACLE_CODE constexpr std::uint8_t E4m3FromBits(std::uint32_t bits) {
  if (IsNanBits(bits)) return 0x7f;
  const std::uint8_t sign = static_cast<std::uint8_t>((bits >> 24) & 0x80);
  const Magnitude x = MagnitudeOf(bits);
  // From 2^9 on every magnitude is past 448 by more than rounding takes back.
  if (x.exponent > 8) return static_cast<std::uint8_t>(sign | 0x7e);
  // The code's last fraction bit stands for 2^(exponent - 3); below the least
  // exponent the grid stays that of the subnormals.
  const int exponent =
      x.exponent > kE4m3MinExponent ? x.exponent : kE4m3MinExponent;
  const int shift = 23 - kE4m3FractionBits + (exponent - x.exponent);
  const std::uint32_t steps = RoundShift(x.significand, shift, rounding);
  // Codes count grid steps: 8 in each octave, the subnormals' 8 included. A
  // significand that rounds up to the next octave carries by itself.
  const std::uint32_t code =
      static_cast<std::uint32_t>(exponent - kE4m3MinExponent) * 8 + steps;
  return static_cast<std::uint8_t>(sign | (code < 0x7e ? code : 0x7e));
}

MLAFUZZ_ORACLE_CODE constexpr float Bf16FromBits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Every NaN becomes 0x7fff.
template <Rounding rounding>
MLAFUZZ_ORACLE_CODE constexpr std::uint16_t Bf16BitsOf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (IsNanBits(bits)) return 0x7fff;
  // fp32 and bf16 share the exponent field, so that dropping 16 fraction bits
  // is the same step in every octave, and a carry moves to the next one.
  return static_cast<std::uint16_t>(
      (bits >> 16 & 0x8000) | RoundShift(bits & 0x7fffffff, 16, rounding));
}

// A code's magnitude, and that over 2^-9. Of NaN, 0x7f, NaN and 0.
MLAFUZZ_ORACLE_CODE constexpr float E4m3Magnitude(std::uint8_t code) {
  const std::uint32_t field = code >> kE4m3FractionBits & 15;
  const std::uint32_t fraction = code & 7;
  if ((code & 0x7f) == 0x7f) return std::bit_cast<float>(0x7fc00000u);
  if (field == 0) return static_cast<float>(fraction) * 0x1p-9f;
  return std::bit_cast<float>((field + 127 - 7) << 23 | fraction << 20);
}
MLAFUZZ_ORACLE_CODE constexpr std::uint32_t E4m3Units(std::uint8_t code) {
  const std::uint32_t field = code >> kE4m3FractionBits & 15;
  const std::uint32_t fraction = code & 7;
  if ((code & 0x7f) == 0x7f) return 0;
  return field == 0 ? fraction : (8 + fraction) << (field - 1);
}
MLAFUZZ_ORACLE_CODE constexpr float E4m3FromCode(std::uint8_t code) {
  return (code & 0x80) != 0 ? -E4m3Magnitude(code) : E4m3Magnitude(code);
}

inline constexpr int kHalfFractionBits = 10;
inline constexpr int kHalfBias = 15;
inline constexpr int kHalfMinExponent = 1 - kHalfBias;

MLAFUZZ_ORACLE_CODE constexpr float HalfFromBits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t field = (bits >> kHalfFractionBits) & 31;
  std::uint32_t fraction = bits & 0x3ff;
  if (field == 31) {
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  }
  if (field != 0) {
    return std::bit_cast<float>(sign | (field - kHalfBias + 127) << 23 |
                                fraction << 13);
  }
  if (fraction == 0) return std::bit_cast<float>(sign);
  // fraction * 2^-24: every half subnormal is a normal fp32 number.
  const int top = 31 - std::countl_zero(fraction);
  fraction = fraction << (23 - top) & 0x7fffff;
  return std::bit_cast<float>(
      sign | static_cast<std::uint32_t>(top - 24 + 127) << 23 | fraction);
}

MLAFUZZ_ORACLE_CODE constexpr std::uint16_t HalfBitsOf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (IsNanBits(bits)) return 0x7fff;
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const Magnitude x = MagnitudeOf(bits);
  if (x.exponent > kHalfBias) {
    return static_cast<std::uint16_t>(sign | 0x7c00);
  }
  const int exponent =
      x.exponent > kHalfMinExponent ? x.exponent : kHalfMinExponent;
  const int shift = 23 - kHalfFractionBits + (exponent - x.exponent);
  // Counts grid steps; a carry out of the last octave is infinity's pattern.
  const std::uint32_t code =
      (static_cast<std::uint32_t>(exponent - kHalfMinExponent)
       << kHalfFractionBits) +
      RoundShift(x.significand, shift, Rounding::kNearestEven);
  return static_cast<std::uint16_t>(sign | code);
}

MLAFUZZ_ORACLE_CODE constexpr float Pow2CeilOf(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (bits == 0 || bits >= 0x7f800000) return x;
  const std::uint32_t fraction = bits & 0x7fffff;
  // Subnormals are fraction * 2^-149, so that a power of two is a single bit;
  // the bit above the fraction is 2^-126.
  if (bits < 0x00800000) return std::bit_cast<float>(std::bit_ceil(fraction));
  if (fraction == 0) return x;
  return std::bit_cast<float>(((bits >> 23) + 1) << 23);
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_CODES_H_
