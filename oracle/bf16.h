#ifndef MLAFUZZ_ORACLE_BF16_H_
#define MLAFUZZ_ORACLE_BF16_H_

#include <bit>
#include <cstdint>

#include "oracle/round_bits.h"

namespace mlafuzz::oracle {

// bfloat16: the upper half of an fp32.

inline constexpr std::uint16_t kBf16Nan = 0x7fff;

// Exact.
float Bf16Value(std::uint16_t bits);

// Every NaN becomes 0x7FFF; nearest even may round up to infinity.
std::uint16_t Bf16FromFloat(float x, Rounding rounding);

inline bool IsBf16Nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_BF16_H_
