#ifndef MLAFUZZ_ORACLE_DECODE_WEIGHTED_VALUES_H_
#define MLAFUZZ_ORACLE_DECODE_WEIGHTED_VALUES_H_

#include <cmath>

#include "oracle/decode/fp64.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/split_weights.h"
#include "oracle/device/device_code.h"

// One column of a split's output, on the host and on a GPU. Follows
// docs/bounds.md sections 5 and 6.
namespace mlafuzz::oracle {

// Keys of a split are added so many at a time, the last ones one by one.
inline constexpr int kKeysAtATime = 4;

// sum += w v, radius += r |v|. `w`, `r`: of four keys; a to d: their values.
MLAFUZZ_ORACLE_CODE inline void AddFourKeys(const double* w, const double* r,
                                            double a, double b, double c,
                                            double d, double* sum,
                                            double* radius) {
  *sum += (w[0] * a + w[1] * b) + (w[2] * c + w[3] * d);
  *radius += (r[0] * std::fabs(a) + r[1] * std::fabs(b)) +
             (r[2] * std::fabs(c) + r[3] * std::fabs(d));
}
MLAFUZZ_ORACLE_CODE inline void AddKey(double w, double r, double v,
                                       double* sum, double* radius) {
  *sum += w * v;
  *radius += r * std::fabs(v);
}

// Whether a row's values may take some sum over `split`'s keys past the range
// of fp32. `reach`: the largest of SplitRoom::reach.
MLAFUZZ_ORACLE_CODE inline bool MayLeaveRange(bool finite, double largest,
                                              double reach,
                                              const SplitSummary& split) {
  // 2 for the radii: every weight is at most about 1.
  return !finite || !(largest * reach * 2 * split.terms < kFp32Max);
}

// The sums over the keys divided by the denominator; a radius of infinity:
// anything.
MLAFUZZ_ORACLE_CODE inline Bounded SplitColumn(double sum, double radius,
                                               const SplitSummary& split,
                                               double tiny) {
  const double o = sum / split.denominator.value;
  double r = radius;
  // Products, rescales and the quotient may lose what is below the normal
  // range; a column of zeros loses nothing.
  if (sum != 0 || r != 0) r += (2 * split.terms + 1) * tiny;
  r = (r + std::fabs(o) * split.denominator.radius) /
      (split.denominator.value - split.denominator.radius);
  r += std::fabs(o) * kDivideError + (r != 0 ? tiny : 0);
  return {o, std::isnan(r) || std::isnan(o) ? kInfinity : r};
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_WEIGHTED_VALUES_H_
