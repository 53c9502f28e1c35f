#include "oracle/layouts/ue8m0.h"

#include <algorithm>
#include <cmath>

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

float Ue8m0Value(std::uint8_t byte, Ue8m0Reading reading) {
  return Ue8m0FromByte(byte, reading.zero == Ue8m0Reading::Zero::kZero,
                       reading.last == Ue8m0Reading::Last::kInf);
}

std::uint8_t Ue8m0FromPow2(float scale) {
  if (!std::isfinite(scale)) return 255;
  return static_cast<std::uint8_t>(std::clamp(std::ilogb(scale) + 127, 0, 255));
}

}  // namespace mlafuzz::oracle
