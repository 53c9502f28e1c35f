#ifndef MLAFUZZ_ORACLE_HALF_H_
#define MLAFUZZ_ORACLE_HALF_H_

#include <cstdint>

namespace mlafuzz::oracle {

// IEEE binary16: sign, five exponent bits with bias 15, ten fraction bits.

// Exact; a NaN keeps its sign and its fraction as the upper fraction bits.
float HalfValue(std::uint16_t bits);

// Nearest even; magnitudes from 65520 on become infinite; NaN becomes 0x7FFF.
std::uint16_t HalfFromFloat(float x);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_HALF_H_
