#ifndef MLAFUZZ_ORACLE_ROUND_BITS_H_
#define MLAFUZZ_ORACLE_ROUND_BITS_H_

#include <bit>
#include <cstdint>

#include "oracle/device/device_code.h"

namespace mlafuzz::oracle {

enum class Rounding { kNearestEven, kTowardZero };

// value / 2^shift as an integer, exactly rounded. Any shift >= 1.
MLAFUZZ_ORACLE_CODE constexpr std::uint32_t RoundShift(std::uint32_t value,
                                                       int shift,
                                                       Rounding rounding) {
  if (shift > 31) shift = 31;  // significands here are below 2^24: still 0
  const std::uint32_t quotient = value >> shift;
  if (rounding == Rounding::kTowardZero) return quotient;
  const std::uint32_t rest = value - (quotient << shift);
  const std::uint32_t half = std::uint32_t{1} << (shift - 1);
  const bool up = rest > half || (rest == half && (quotient & 1) != 0);
  return quotient + (up ? 1 : 0);
}

// A finite fp32 magnitude as significand * 2^(exponent - 23): the significand
// has bit 23 set unless the number is subnormal or zero (exponent -126).
struct Magnitude {
  std::uint32_t significand;
  int exponent;
};

MLAFUZZ_ORACLE_CODE constexpr Magnitude MagnitudeOf(std::uint32_t bits) {
  const int field = static_cast<int>((bits >> 23) & 0xff);
  const std::uint32_t fraction = bits & 0x7fffff;
  if (field == 0) return {fraction, -126};
  return {fraction | 0x800000, field - 127};
}

MLAFUZZ_ORACLE_CODE constexpr bool IsNanBits(std::uint32_t bits) {
  return (bits & 0x7fffffff) > 0x7f800000;
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_ROUND_BITS_H_
