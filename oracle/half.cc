#include "oracle/half.h"

#include <algorithm>
#include <bit>

#include "oracle/round_bits.h"

namespace mlafuzz::oracle {
namespace {

constexpr int kFractionBits = 10;
constexpr int kBias = 15;
constexpr int kMinExponent = 1 - kBias;

}  // namespace

float HalfValue(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t field = (bits >> kFractionBits) & 31;
  std::uint32_t fraction = bits & 0x3ff;
  if (field == 31) {
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  }
  if (field != 0) {
    return std::bit_cast<float>(sign | (field - kBias + 127) << 23 |
                                fraction << 13);
  }
  if (fraction == 0) return std::bit_cast<float>(sign);
  // fraction * 2^-24: every half subnormal is a normal fp32 number.
  const int top = 31 - std::countl_zero(fraction);
  fraction = fraction << (23 - top) & 0x7fffff;
  return std::bit_cast<float>(
      sign | static_cast<std::uint32_t>(top - 24 + 127) << 23 | fraction);
}

std::uint16_t HalfFromFloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (IsNanBits(bits)) return 0x7fff;
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const Magnitude x = MagnitudeOf(bits);
  if (x.exponent > kBias) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = std::max(x.exponent, kMinExponent);
  const int shift = 23 - kFractionBits + (exponent - x.exponent);
  // Counts grid steps; a carry out of the last octave is infinity's pattern.
  const std::uint32_t code =
      (static_cast<std::uint32_t>(exponent - kMinExponent) << kFractionBits) +
      RoundShift(x.significand, shift, Rounding::kNearestEven);
  return static_cast<std::uint16_t>(sign | code);
}

}  // namespace mlafuzz::oracle
