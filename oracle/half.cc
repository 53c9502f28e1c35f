#include "oracle/half.h"

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

float HalfValue(std::uint16_t bits) { return HalfFromBits(bits); }

std::uint16_t HalfFromFloat(float x) { return HalfBitsOf(x); }

}  // namespace mlafuzz::oracle
