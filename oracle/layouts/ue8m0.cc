#include "oracle/layouts/ue8m0.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlafuzz::oracle {

float Ue8m0Value(std::uint8_t byte, Ue8m0Reading reading) {
  if (byte == 0 && reading.zero == Ue8m0Reading::Zero::kZero) return 0.0f;
  if (byte == 255) {
    return reading.last == Ue8m0Reading::Last::kNan
               ? std::numeric_limits<float>::quiet_NaN()
               : std::numeric_limits<float>::infinity();
  }
  return std::ldexp(1.0f, byte - 127);
}

std::uint8_t Ue8m0FromPow2(float scale) {
  if (!std::isfinite(scale)) return 255;
  return static_cast<std::uint8_t>(std::clamp(std::ilogb(scale) + 127, 0, 255));
}

}  // namespace mlafuzz::oracle
