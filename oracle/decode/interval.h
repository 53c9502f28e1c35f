#ifndef MLAFUZZ_ORACLE_DECODE_INTERVAL_H_
#define MLAFUZZ_ORACLE_DECODE_INTERVAL_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/fp64.h"
#include "oracle/device/device_code.h"

// Arithmetic of error bounds. The constants' sources are in docs/bounds.md; the
// numbers in brackets below are its sections.
namespace mlafuzz::oracle {

// A simulated value; what a right kernel holds is within `radius` of it.
struct Bounded {
  double value = 0;
  double radius = 0;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Unit roundoffs 2^-p of nearest rounding to p significant bits [1].
inline constexpr double kU32 = 0x1p-24;
inline constexpr double kUBf16 = 0x1p-8;
inline constexpr double kUE4m3 = 0x1p-4;

inline constexpr double kFp32Max = 0x1.fffffep127;
inline constexpr double kFp32MinNormal = 0x1p-126;

// A maximum at or below this may stand for "no key", as a logit or as a scaled
// one: kernels start it at -1e30 (FlashMLA, FlashInfer), and FlashInfer
// compares with -1e29 [7].
inline constexpr double kSentinel = -1e29;

// lg2.approx.f32 and log2f: 2^-22 absolute near 1, relative elsewhere (PTX ISA,
// CUDA C++ Programming Guide) [1].
inline constexpr double kLog2Error = 0x1p-22;
// Division: at most 2 ulp, __fdividef (CUDA C++ Programming Guide) [1].
inline constexpr double kDivideError = 0x1p-22;

// The relative error of k roundings in a row: k u / (1 - k u) (Higham,
// "Accuracy and Stability", lemma 3.1) [2].
MLAFUZZ_ORACLE_CODE inline double Gamma(double k) {
  return k * kU32 / (1 - k * kU32);
}

// 2^d - 1, which bounds |2^x - 1| for |x| <= d.
MLAFUZZ_ORACLE_CODE inline double Exp2Radius(double d) { return Exp2Minus1(d); }

// The free choices of an arithmetic, as error terms.
class ErrorModel {
 public:
  MLAFUZZ_ORACLE_CODE explicit ErrorModel(const ArithmeticRules& rules)
      : accumulator_(rules.accumulator),
        bits_(rules.accumulator_bits),
        exp2_(rules.exp2),
        kept_(rules.kept()) {}

  // |computed - exact| / sum |terms| for a sum of `terms` products of which
  // `slots` (at least `terms`) pass through the accumulator, in any order.
  // `rounded`: further roundings on the way of one term (its product where that
  // is not exact, scalings after a part of the sum) [2], [3].
  MLAFUZZ_ORACLE_CODE double Sum(double terms, double slots, double rounded,
                                 bool fp8) const {
    if (terms <= 0) return 0;
    if (accumulator_ == ArithmeticRules::Accumulator::kIeeeFp32) {
      return Gamma(terms - 1 + rounded);
    }
    const double steps = std::min(terms, std::ceil(slots / kMmaTerms));
    const double factor = (terms + steps) * PowerOfTwo(1 - MmaBits(fp8)) +
                          steps * 0x1p-23 + Gamma(rounded);
    return factor < 1 ? factor / (1 - factor) : kInfinity;
  }

  // Significant bits that survive a sum; sums of integers below 2^bits in units
  // of the least term are exact in any order [2].
  MLAFUZZ_ORACLE_CODE int ExactBits(bool fp8) const {
    return accumulator_ == ArithmeticRules::Accumulator::kIeeeFp32
               ? 24
               : std::min(24, MmaBits(fp8));
  }

  // Relative error of exp2 at an argument x <= 0.
  MLAFUZZ_ORACLE_CODE double Exp2(double x) const {
    if (exp2_ > 0) return exp2_;
    // __expf: 2 + floor(|1.173 x|) ulp of 2^-23, x natural (CUDA guide) [1].
    return (2 + std::floor(std::fabs(1.173 * kLn2 * x))) * 0x1p-23;
  }

  // What an operation may lose below the normal range [6].
  MLAFUZZ_ORACLE_CODE double Tiny() const {
    return kept_ ? 0x1p-149 : kFp32MinNormal;
  }
  MLAFUZZ_ORACLE_CODE bool kept() const { return kept_; }

 private:
  // The least number of products that one step adds on any tensor core measured
  // so far (V100: 4, A100: 8, H100: 16; Fasi et al. 2021) [3].
  static constexpr double kMmaTerms = 4;

  MLAFUZZ_ORACLE_CODE int MmaBits(bool fp8) const {
    if (accumulator_ == ArithmeticRules::Accumulator::kMma && bits_ > 0)
      return bits_;
    // FP8 on Hopper keeps about 14 bits (DeepSeek-V3 report, section 3.3.2);
    // 16-bit operands keep at least 24 everywhere (Fasi et al. 2021) [3].
    return fp8 ? 14 : 24;
  }

  ArithmeticRules::Accumulator accumulator_;
  int bits_;
  double exp2_;
  bool kept_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_INTERVAL_H_
