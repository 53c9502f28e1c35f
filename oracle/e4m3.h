#ifndef MLAFUZZ_ORACLE_E4M3_H_
#define MLAFUZZ_ORACLE_E4M3_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "oracle/device/codes.h"
#include "oracle/round_bits.h"

namespace mlafuzz::oracle {

// E4M3FN as the OCP 8-bit floating-point specification defines it: sign, four
// exponent bits with bias 7, three fraction bits, subnormals; no infinity; 0x7F
// and 0xFF are NaN; the largest finite magnitude is 448 (0x7E).
//
// This codec is the oracle's own and shares nothing with kernels/.

// The exact value of each code.
const std::array<float, 256>& E4m3Values(E4m3Reading reading);

inline constexpr std::uint8_t kE4m3Nan = 0x7f;
inline constexpr std::uint8_t kE4m3Max = 0x7e;  // 448

// The code of `x`: rounded, saturating at +-448 (infinities too), the sign of
// zero kept, NaN as 0x7F whatever its sign.
std::uint8_t E4m3FromFloat(float x, Rounding rounding);

// The same for a run of values. codes.size() == x.size().
void E4m3FromFloats(absl::Span<const float> x, Rounding rounding,
                    absl::Span<std::uint8_t> codes);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_E4M3_H_
