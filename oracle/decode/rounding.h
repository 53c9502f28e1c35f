#ifndef MLAFUZZ_ORACLE_DECODE_ROUNDING_H_
#define MLAFUZZ_ORACLE_DECODE_ROUNDING_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracle/device/device_code.h"

namespace mlafuzz::oracle {

// A real number rounded once, to nearest even, to `bits` significant bits with
// the least normal exponent `min_exponent`; finite values only, no upper limit.
MLAFUZZ_ORACLE_CODE inline double RoundTo(double x, int bits,
                                          int min_exponent) {
  const int field =
      static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  // Zero, not finite, or so large that it is the same to any user of this.
  if (x == 0 || field > 900) return x;
  const int exponent = field > min_exponent ? field : min_exponent;
  // Adding and taking away 1.5 * 2^52 steps rounds to a multiple of the step.
  const double magic = std::bit_cast<double>(
      static_cast<std::uint64_t>(1023 + 52 + exponent - (bits - 1)) << 52 |
      std::uint64_t{1} << 51);
  return (x + magic) - magic;
}

// Nearest-even bf16; infinite from 2^128 - 2^119 on.
MLAFUZZ_ORACLE_CODE inline double RoundBf16(double x) {
  const double rounded = RoundTo(x, 8, -126);
  return std::fabs(rounded) >= 0x1p128
             ? std::copysign(std::numeric_limits<double>::infinity(), x)
             : rounded;
}

// Nearest-even E4M3FN, saturating at +-448.
MLAFUZZ_ORACLE_CODE inline double RoundE4m3(double x) {
  const double rounded = RoundTo(x, 4, -6);
  return std::fabs(rounded) > 448 ? std::copysign(448.0, x) : rounded;
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_ROUNDING_H_
