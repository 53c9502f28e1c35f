#include "properties/relations/tile_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mlafuzz {
namespace {

constexpr int Infinity(DType dtype) { return dtype == BF16 ? 0x7f80 : 0x7c00; }

}  // namespace

double ValueOf(std::uint16_t bits, DType dtype) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int mantissa_bits = dtype == BF16 ? 7 : 10;
  const int bias = dtype == BF16 ? 127 : 15;
  const int magnitude = bits & 0x7fff;
  if (magnitude > Infinity(dtype)) return std::nan("");
  if (magnitude == Infinity(dtype)) return sign * INFINITY;
  const int exponent = magnitude >> mantissa_bits;
  const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp(mantissa + (1 << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

bool IsNan(std::uint16_t bits, DType dtype) {
  return (bits & 0x7fff) > Infinity(dtype);
}

bool IsInf(std::uint16_t bits, DType dtype) {
  return (bits & 0x7fff) == Infinity(dtype);
}

bool AllFinite(const TileValues& values, DType dtype) {
  return std::all_of(values.begin(), values.end(), [&](std::uint16_t v) {
    return (v & 0x7fff) < Infinity(dtype);
  });
}

double AmaxOf(const TileValues& values, DType dtype) {
  double amax = 0;
  for (const std::uint16_t v : values) {
    if (!IsNan(v, dtype)) amax = std::max(amax, std::fabs(ValueOf(v, dtype)));
  }
  return amax;
}

double FloorOf(const WriterContract& writer) {
  if (writer.floor() == WriterContract::FLOOR_NONE) return 0;
  return std::bit_cast<float>(writer.floor_bits());
}

}  // namespace mlafuzz
