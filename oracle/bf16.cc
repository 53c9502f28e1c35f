#include "oracle/bf16.h"

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

float Bf16Value(std::uint16_t bits) { return Bf16FromBits(bits); }

std::uint16_t Bf16FromFloat(float x, Rounding rounding) {
  return rounding == Rounding::kTowardZero
             ? Bf16BitsOf<Rounding::kTowardZero>(x)
             : Bf16BitsOf<Rounding::kNearestEven>(x);
}

}  // namespace mlafuzz::oracle
