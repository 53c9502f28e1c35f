#ifndef MLAFUZZ_ORACLE_DECODE_DECODE_MATCHES_H_
#define MLAFUZZ_ORACLE_DECODE_DECODE_MATCHES_H_

#include <cmath>
#include <cstdint>

#include "oracle/decode/interval.h"
#include "oracle/decode/rounding.h"
#include "oracle/device/codes.h"
#include "oracle/device/device_code.h"

// Whether what a kernel returned is within its bound, on the host and on a GPU.
// Values and bounds as in DecodeExpectation.
namespace mlafuzz::oracle {

// Whether bf16 `bits` is the nearest-even rounding of some real number within
// `bound` of `value`. `may_flush`: a subnormal one may be zero instead.
MLAFUZZ_ORACLE_CODE inline bool OutMatches(double value, double bound,
                                           bool may_flush, std::uint16_t bits) {
  if (std::isinf(bound)) return true;
  const double got = Bf16FromBits(bits);
  if (std::isnan(value) || std::isnan(got)) {
    return std::isnan(value) && std::isnan(got);
  }
  if (std::isinf(value)) return got == value;
  if (got == 0 && may_flush && std::fabs(value) - bound < kFp32MinNormal) {
    return true;
  }
  // Rounding is monotone.
  return RoundBf16(value - bound) <= got && got <= RoundBf16(value + bound);
}

MLAFUZZ_ORACLE_CODE inline bool LseMatches(double value, double bound,
                                           float lse) {
  if (std::isinf(bound)) return true;
  if (std::isnan(value) || std::isnan(lse)) {
    return std::isnan(value) && std::isnan(lse);
  }
  if (std::isinf(value)) return lse == value;
  return std::fabs(lse - value) <= bound;
}

// How much of its bound an LSE's error takes; 0 where it has none.
MLAFUZZ_ORACLE_CODE inline double LseOfBound(double value, double bound,
                                             float lse) {
  return std::isfinite(value) && std::isfinite(lse) && bound > 0 &&
                 std::isfinite(bound)
             ? std::fabs(lse - value) / bound
             : 0;
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DECODE_MATCHES_H_
