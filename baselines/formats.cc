#include "baselines/formats.h"

#include <array>
#include <cmath>
#include <limits>

namespace mlafuzz::baselines {

float RoundToFp16(float value) {
  if (!std::isfinite(value)) return value;
  // Below 2^-14 fp16 counts in steps of 2^-24.
  if (std::fabs(value) < 0x1p-14f) {
    return std::nearbyint(value * 0x1p24f) * 0x1p-24f;
  }
  auto bits = std::bit_cast<std::uint32_t>(value);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~std::uint32_t{0x1fff};
  const auto rounded = std::bit_cast<float>(bits);
  if (std::fabs(rounded) < 65536) return rounded;
  return std::copysign(std::numeric_limits<float>::infinity(), value);
}

float FromE4m3(std::uint8_t code) {
  static const std::array<float, 256> kValues = [] {
    std::array<float, 256> values{};
    for (unsigned i = 0; i < 256; ++i) {
      const int exponent = static_cast<int>(i >> 3 & 15);
      const auto mantissa = static_cast<float>(i & 7);
      float value = exponent == 0 ? std::ldexp(mantissa, -9)
                                  : std::ldexp(8 + mantissa, exponent - 10);
      if ((i & 0x7f) == 0x7f) value = std::numeric_limits<float>::quiet_NaN();
      values[i] = i & 0x80 ? -value : value;
    }
    return values;
  }();
  return kValues[code];
}

std::uint8_t ToE4m3(float value) {
  if (value != value) return 0x7f;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= 448) return static_cast<std::uint8_t>(sign | 0x7e);
  // Below 2^-6 codes count in steps of 2^-9; eight of them are code 0x08.
  if (magnitude < 0x1p-6f) {
    return static_cast<std::uint8_t>(
        sign | static_cast<unsigned>(std::nearbyint(magnitude * 512)));
  }
  auto bits = std::bit_cast<std::uint32_t>(magnitude);
  bits += 0x7ffff + (bits >> 20 & 1);
  // From fp32's bias of 127 to 7.
  return static_cast<std::uint8_t>(sign | ((bits >> 20) - (120 << 3)));
}

}  // namespace mlafuzz::baselines
