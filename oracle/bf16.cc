#include "oracle/bf16.h"

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

float Bf16Value(std::uint16_t bits) { return Bf16FromBits(bits); }

std::uint16_t Bf16FromFloat(float x, Rounding rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (IsNanBits(bits)) return kBf16Nan;
  // fp32 and bf16 share the exponent field, so that dropping 16 fraction bits
  // is the same step in every octave, and a carry moves to the next one.
  const std::uint32_t magnitude = bits & 0x7fffffff;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) |
                                    RoundShift(magnitude, 16, rounding));
}

}  // namespace mlafuzz::oracle
