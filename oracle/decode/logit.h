#ifndef MLAFUZZ_ORACLE_DECODE_LOGIT_H_
#define MLAFUZZ_ORACLE_DECODE_LOGIT_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/fp64.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/rounding.h"
#include "oracle/decode/row_values.h"
#include "oracle/device/bits.h"
#include "oracle/device/device_code.h"

// A head's query and its logits, on the host and on a GPU. Follows
// docs/bounds.md sections 2, 3 and 4.
namespace mlafuzz::oracle {

// The most that a query has.
inline constexpr int kQueryColumns = kLatent + kRope;

// ---- the query

// 2^ceil(log2(max(amax, 1e-4) / 448)), the scale of a quantised query. `amax`
// is finite.
MLAFUZZ_ORACLE_CODE inline double QueryScale(double amax) {
  const float least = 1e-4f;
  const float largest = static_cast<float>(amax);
  const float scale = (largest < least ? least : largest) / 448.0f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  const int exponent = static_cast<int>(bits >> 23) - 127;  // it is normal
  return PowerOfTwo((bits & 0x7fffff) == 0 ? exponent : exponent + 1);
}

MLAFUZZ_ORACLE_CODE inline double QuantisedQuery(double q, double scale) {
  return RoundE4m3(q / scale) * scale;
}

// What is known of a query's columns.
struct QueryFacts {
  int nonzero = 0;
  double magnitude = 0;        // sum of |q|, radii included
  double granule = kInfinity;  // see RowFacts

  MLAFUZZ_ORACLE_CODE void Add(double x, double radius) {
    if (x == 0) return;
    ++nonzero;
    magnitude += std::fabs(x) + radius;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff || exponent == 0) {
      granule = 0;
      return;
    }
    // The lowest fraction bit in sight. 2^least is a normal fp64 number for
    // every bf16.
    const std::uint64_t fraction = (bits & 0xfffffffffffffu) | std::uint64_t{1}
                                                                   << 52;
    const int least = exponent - 1075 + TrailingZeros(fraction);
    granule = Min(granule, PowerOfTwo(least));
  }
};

// ---- sums of products

struct DotSums {
  double sum = 0;
  double magnitude = 0;
};

// sum q k and sum |q k| are formed in so many parts, of columns that far apart,
// which are then added in order.
inline constexpr int kDotParts = 8;

MLAFUZZ_ORACLE_CODE inline DotSums Total(const DotSums* parts) {
  DotSums total;
  for (int l = 0; l < kDotParts; ++l) {
    total.sum += parts[l].sum;
    total.magnitude += parts[l].magnitude;
  }
  return total;
}

MLAFUZZ_ORACLE_CODE inline void AddTerm(double q, double k, double* sum,
                                        double* magnitude) {
  const double term = q * k;
  *sum += term;
  *magnitude += std::fabs(term);
}

// The sum of one head's `n` columns as Hopper's tensor cores form it: 16
// products a step, in column order; a step aligns them and the accumulator to
// the largest of all, cuts each after `bits` significant bits of that and the
// result after fp32's 24. Which of the orders is taken matters for nothing but
// the centre of the interval; this one with 26 bits predicts FlashMLA's
// recorded LSE 20 times as well as the exact sum. Finite terms, n a multiple of
// 16. `key`: its columns.
template <class Key>
MLAFUZZ_ORACLE_CODE double MmaDot(const double* q, const Key& key, int n,
                                  int bits) {
  constexpr int kStep = 16;
  constexpr std::uint64_t kBelowFp32 = (std::uint64_t{1} << 29) - 1;
  // 17 terms fit 32 bits and a sign.
  const int fraction = (bits < 28 ? bits : 28) - 1;
  double sum = 0;
  for (int i = 0; i < n; i += kStep) {
    double term[kStep];
    double largest = std::fabs(sum);
    for (int l = 0; l < kStep; ++l) {
      term[l] = q[i + l] * key(i + l);
      largest = Max(largest, std::fabs(term[l]));
    }
    if (largest == 0) continue;
    const int exponent =
        static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52) - 1023;
    const double to_units = PowerOfTwo(fraction - exponent);
    std::int64_t units = static_cast<std::int32_t>(sum * to_units);
    for (int l = 0; l < kStep; ++l) {
      units += static_cast<std::int32_t>(term[l] * to_units);
    }
    const double aligned =
        static_cast<double>(units) * PowerOfTwo(exponent - fraction);
    sum = std::bit_cast<double>(std::bit_cast<std::uint64_t>(aligned) &
                                ~kBelowFp32);
  }
  return sum;
}

// ---- the logit

// What one call's logits have in common.
struct LogitRules {
  double to_base_2;  // softmax scale times log2(e)
  bool fp8;          // the operands are
  double rounded;    // roundings on the way of one term
  bool scale_may_follow;
  int mma_bits;     // of an accumulator that is simulated; 0: none is
  double sentinel;  // see HeadScores
};

// `keys`: the QK side's.
MLAFUZZ_ORACLE_CODE inline LogitRules LogitRulesOf(const ArithmeticRules& rules,
                                                   const ValueRules& keys,
                                                   float softmax_scale) {
  LogitRules logit;
  logit.to_base_2 = static_cast<double>(softmax_scale) * kLog2E;
  logit.fp8 = rules.query != ArithmeticRules::Query::kBf16 &&
              rules.dequantised != ArithmeticRules::Dequantised::kBf16 &&
              rules.dequantised != ArithmeticRules::Dequantised::kFp32;
  // A product where that is longer than a significand; the scale of a tile; the
  // scale of the query's tile is a power of two and exact.
  logit.rounded = (keys.short_products() ? 0 : 1) + keys.roundings();
  logit.scale_may_follow = keys.scale_may_follow();
  logit.mma_bits = rules.accumulator == ArithmeticRules::Accumulator::kMma
                       ? rules.accumulator_bits
                       : 0;
  logit.sentinel = kSentinel * Min(1.0, std::fabs(logit.to_base_2));
  return logit;
}

// Of sums over known terms: `exact` in fp64, `centre` as simulated (the same
// where nothing is), `inputs` what the inputs' own radii bring in. The logit
// and |computed - logit|; a radius of infinity: anything.
MLAFUZZ_ORACLE_CODE inline Bounded LogitOf(
    const LogitRules& logit, const ErrorModel& errors, double sum_error,
    const QueryFacts& query, const RowFacts& row, const DotSums& exact,
    double centre, double inputs) {
  // log2(e), its product with the scale and that with the sum: three roundings
  // in any order [4].
  const double scaling = Gamma(3);
  Bounded t;
  t.value = centre * logit.to_base_2;
  double e = exact.magnitude * sum_error + std::fabs(centre - exact.sum);
  // Lattice: all partial sums are short integers of one unit.
  const double unit = query.granule * row.granule;
  if (unit > 0 &&
      exact.magnitude <= unit * PowerOfTwo(errors.ExactBits(logit.fp8))) {
    e = 0;
  } else {
    e += query.nonzero * errors.Tiny() * row.growth;
  }
  e += inputs;
  t.radius = std::fabs(logit.to_base_2) * e * (1 + scaling) +
             std::fabs(t.value) * scaling;
  if (t.value != 0 || e != 0) t.radius += errors.Tiny();
  if (!(std::fabs(t.value) + t.radius < kFp32Max) || std::isnan(t.radius)) {
    t.radius = kInfinity;
  }
  return t;
}

// Whether some order overflows, or a sum of codes before its scale: the logit
// may be anything.
MLAFUZZ_ORACLE_CODE inline bool MayOverflow(const LogitRules& logit,
                                            const QueryFacts& query,
                                            const DotSums& exact) {
  return !(exact.magnitude < kFp32Max) ||
         (logit.scale_may_follow && !(query.magnitude * 448 < kFp32Max));
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_LOGIT_H_
