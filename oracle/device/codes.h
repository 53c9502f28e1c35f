#ifndef MLAFUZZ_ORACLE_DEVICE_CODES_H_
#define MLAFUZZ_ORACLE_DEVICE_CODES_H_

#include <bit>
#include <cstdint>

#include "oracle/device/bits.h"
#include "oracle/device/device_code.h"
#include "oracle/round_bits.h"

// The oracle's codecs, for the host and for GPUs: oracle/e4m3.h, half.h,
// bf16.h, quantise.h, upconvert.h and layouts/ue8m0.h say what they promise.
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

// How a reader takes a code: as it is, or as one of the wrong ways.
enum class E4m3Reading : std::uint8_t {
  kFn,
  kFnuz,          // bias 8, 0x80 is NaN, no other NaN
  kNoSubnormals,  // exponent field 0 with a fraction read with a hidden one
};

MLAFUZZ_ORACLE_CODE constexpr float E4m3ToFloat(std::uint8_t code,
                                                E4m3Reading reading) {
  const int field = (code >> kE4m3FractionBits) & 15;
  const int fraction = code & 7;
  const bool fnuz = reading == E4m3Reading::kFnuz;
  if (fnuz ? code == 0x80 : field == 15 && fraction == 7) {
    return std::bit_cast<float>(std::uint32_t{0x7fc00000});
  }
  const int bias = fnuz ? 8 : 7;
  const bool hidden =
      field != 0 || (reading == E4m3Reading::kNoSubnormals && fraction != 0);
  // With a hidden one the exponent is field - bias, else that of field 1.
  const int significand = fraction + (hidden ? 8 : 0);
  const int exponent = (hidden ? field - bias : 1 - bias) - kE4m3FractionBits;
  // Four bits times a power of two: exact.
  const float magnitude =
      static_cast<float>(significand) *
      std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// The scale of a byte; readers differ at its ends.
MLAFUZZ_ORACLE_CODE constexpr float Ue8m0FromByte(std::uint8_t byte,
                                                  bool zero_is_zero,
                                                  bool last_is_inf) {
  if (byte == 0) {
    return std::bit_cast<float>(
        std::uint32_t{zero_is_zero ? 0u : 0x00400000u});  // 2^-127
  }
  if (byte == 255 && !last_is_inf) {
    return std::bit_cast<float>(std::uint32_t{0x7fc00000});
  }
  return std::bit_cast<float>(static_cast<std::uint32_t>(byte) << 23);
}

MLAFUZZ_ORACLE_CODE constexpr std::uint16_t Bf16BitsOf(float x,
                                                       Rounding rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (IsNanBits(bits)) return 0x7fff;
  // fp32 and bf16 share the exponent field, so that dropping 16 fraction bits
  // is the same step in every octave, and a carry moves to the next one.
  const std::uint32_t magnitude = bits & 0x7fffffff;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) |
                                    RoundShift(magnitude, 16, rounding));
}

MLAFUZZ_ORACLE_CODE constexpr float Bf16FromBits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// A code's magnitude over 2^-9; of NaN 0.
MLAFUZZ_ORACLE_CODE constexpr std::uint32_t E4m3Units(std::uint8_t code) {
  const std::uint32_t field = code >> kE4m3FractionBits & 15;
  const std::uint32_t fraction = code & 7;
  if ((code & 0x7f) == 0x7f) return 0;
  return field == 0 ? fraction : (8 + fraction) << (field - 1);
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
  const int top = 31 - LeadingZeros(fraction);
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
  if (bits < 0x00800000) return std::bit_cast<float>(PowerOfTwoFrom(fraction));
  if (fraction == 0) return x;
  return std::bit_cast<float>(((bits >> 23) + 1) << 23);
}

// What a reader makes of the bits of a stored scale.
enum class ScaleReading : std::uint8_t {
  kStored,
  kPow2Floor,  // sign and exponent field alone
  kPow2Ceil,   // of the magnitude, with the sign
  kBf16,       // rounded to it
  kOne,        // whatever it is
};

MLAFUZZ_ORACLE_CODE constexpr float ScaleAsRead(ScaleReading reading,
                                                std::uint32_t bits) {
  const float stored = std::bit_cast<float>(bits);
  switch (reading) {
    case ScaleReading::kPow2Floor:
      return std::bit_cast<float>(bits & 0xff800000);
    case ScaleReading::kPow2Ceil: {
      const float ceil = Pow2CeilOf(std::bit_cast<float>(bits & 0x7fffffff));
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(ceil) |
                                  (bits & 0x80000000));
    }
    case ScaleReading::kBf16:
      return Bf16FromBits(Bf16BitsOf(stored, Rounding::kNearestEven));
    case ScaleReading::kOne:
      return 1.0f;
    case ScaleReading::kStored:
      break;
  }
  return stored;
}

enum class ProductRounding : std::uint8_t { kNearest, kTruncated, kFlushed };

// The bf16 of one fp32 product. Not to be built with contraction.
MLAFUZZ_ORACLE_CODE constexpr std::uint16_t ProductBits(
    float value, float scale, ProductRounding rounding) {
  float product = value * scale;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(product);
  // Subnormals have no bit in the exponent field.
  if (rounding == ProductRounding::kFlushed && (bits & 0x7f800000) == 0) {
    product = std::bit_cast<float>(bits & 0x80000000);
  }
  return Bf16BitsOf(product, rounding == ProductRounding::kTruncated
                                 ? Rounding::kTowardZero
                                 : Rounding::kNearestEven);
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_CODES_H_
