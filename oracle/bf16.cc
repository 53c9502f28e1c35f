#include "oracle/bf16.h"

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

float Bf16Value(std::uint16_t bits) { return Bf16FromBits(bits); }

std::uint16_t Bf16FromFloat(float x, Rounding rounding) {
  return Bf16BitsOf(x, rounding);
}

}  // namespace mlafuzz::oracle
