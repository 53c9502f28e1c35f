#ifndef MLAFUZZ_ORACLE_DECODE_ROW_VALUES_H_
#define MLAFUZZ_ORACLE_DECODE_ROW_VALUES_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/fp64.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/read_scale.h"
#include "oracle/device/bits.h"
#include "oracle/device/codes.h"
#include "oracle/device/device_code.h"

// The values of a cache row where nothing leaves the normal range of fp32, on
// the host and on a GPU. Each fp32 operation rounds once: not to be built with
// contraction.
namespace mlafuzz::oracle {

inline constexpr double kLeastCode = 0x1p-9;  // of E4M3, above zero

// What is known of one dequantised row beside its values.
struct RowFacts {
  bool unknown = false;     // the rule says nothing about some scale
  bool has_radius = false;  // some value is known only within a radius
  bool finite = true;       // all values are
  double largest = 0;       // at least the largest magnitude of a finite value
  // By how much what is lost below the normal range may grow afterwards: the
  // largest scale that follows a sum, at least 1.
  double growth = 1;
  // Every value is an integer multiple of this power of two; 0: not looked for.
  double granule = 0;
};

// One side's reading of codes.
struct ValueRules {
  ArithmeticRules::Dequantised mode;
  bool codes;  // values are the codes alone: the scale goes elsewhere

  // Whether sums may be formed of codes, their scale following.
  MLAFUZZ_ORACLE_CODE constexpr bool scale_may_follow() const {
    return !codes && (mode == ArithmeticRules::Dequantised::kCodes ||
                      mode == ArithmeticRules::Dequantised::kUnknown);
  }
  // Roundings between a code times its scale and the sum over the row, beyond
  // those that values have.
  MLAFUZZ_ORACLE_CODE constexpr double roundings() const {
    // Codes alone: the scale multiplies a partial sum.
    return !codes && mode == ArithmeticRules::Dequantised::kCodes ? 1 : 0;
  }
  // Whether value times a bf16 number is exact in fp32.
  MLAFUZZ_ORACLE_CODE constexpr bool short_products() const {
    return codes || mode == ArithmeticRules::Dequantised::kBf16 ||
           mode == ArithmeticRules::Dequantised::kCodes;
  }
};

// Whether some value of a tile of this scale is below the normal range, not
// finite, or of unknown rounding: DequantisedValue() is not for it.
MLAFUZZ_ORACLE_CODE inline bool IsSlowTile(const ValueRules& rules,
                                           float scale) {
  return !rules.codes &&
         (!std::isfinite(scale) ||
          rules.mode == ArithmeticRules::Dequantised::kUnknown ||
          std::fabs(scale) * kLeastCode < kFp32MinNormal);
}

// Nearest even bf16 of an fp32 in integers; a carry moves to the next octave. A
// NaN must have room for the carry.
MLAFUZZ_ORACLE_CODE inline float RoundFloatToBf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

// Of a code's value and its tile's scale.
MLAFUZZ_ORACLE_CODE inline double DequantisedValue(const ValueRules& rules,
                                                   float code, float scale) {
  if (rules.codes) return code;
  switch (rules.mode) {
    case ArithmeticRules::Dequantised::kBf16:
      return RoundFloatToBf16(code * scale);
    case ArithmeticRules::Dequantised::kFp32:
      return code * scale;
    default:
      return code * static_cast<double>(scale);
  }
}

// Adds what a tile that is not slow says to the facts of its row. `most`: the
// largest of its codes but for their signs.
MLAFUZZ_ORACLE_CODE inline void AddTile(const ValueRules& rules,
                                        std::uint8_t most, float scale,
                                        RowFacts* facts) {
  // Values grow with the code's magnitude, and NaN has the largest. A bf16 may
  // be rounded up by 2^-8 of itself.
  const double largest = E4m3ToFloat(most, E4m3Reading::kFn) *
                         (rules.codes ? 1.0 : std::fabs(scale) * (1 + kUBf16));
  if (largest < kFp32Max) {
    facts->largest = Max(facts->largest, largest);
  } else {
    facts->finite = false;  // or close to it
    facts->largest = kInfinity;
  }
}

// Products with a power of two keep the codes' own granule.
MLAFUZZ_ORACLE_CODE inline bool HasGranule(const ValueRules& rules,
                                           float scale) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale) & 0x7fffffff;
  return rules.codes ||
         (bits >= 0x00800000 && bits < 0x7f800000 && (bits & 0x7fffff) == 0);
}
// `units`: the magnitudes of a tile's codes over 2^-9, or-ed; NaN counts as 0.
MLAFUZZ_ORACLE_CODE inline void AddGranule(const ValueRules& rules,
                                           std::uint32_t units, float scale,
                                           RowFacts* facts) {
  if (units == 0) return;
  const double one = rules.codes ? 1.0 : std::fabs(scale);
  facts->granule =
      Min(facts->granule, kLeastCode * one * PowerOfTwo(TrailingZeros(units)));
}

// What a scale says of its row, slow or not.
MLAFUZZ_ORACLE_CODE inline void AddScale(const ValueRules& rules,
                                         const ReadScale& scale,
                                         RowFacts* facts) {
  if (rules.codes) return;
  facts->unknown |= scale.unknown;
  if (rules.scale_may_follow() && std::isfinite(scale.value)) {
    facts->growth = Max(facts->growth, std::fabs(scale.value));
  }
}

// bf16 numbers, a rope: word by word, then Facts().
class RopeFacts {
 public:
  MLAFUZZ_ORACLE_CODE void Add(std::uint16_t word) {
    const std::uint16_t magnitude = word & 0x7fff;
    if (magnitude > largest_) largest_ = magnitude;
    // The least bit that is set, as an exponent of two.
    const int exponent = word >> 7 & 0xff;
    const unsigned fraction = (word & 0x7f) | (exponent != 0 ? 0x80u : 0u);
    if (fraction == 0) return;
    const int least =
        (exponent == 0 ? 1 : exponent) - 127 - 7 + TrailingZeros(fraction);
    if (least < least_) least_ = least;
  }

  // Of the facts only `finite`, `largest` and, if asked for, `granule`.
  MLAFUZZ_ORACLE_CODE RowFacts Facts(bool with_granule) const {
    RowFacts facts;
    facts.finite = largest_ < 0x7f80;
    facts.largest = facts.finite ? Bf16FromBits(largest_) : kInfinity;
    if (with_granule && facts.finite) {
      facts.granule = least_ == kNone ? kInfinity : PowerOfTwo(least_);
    }
    return facts;
  }

 private:
  static constexpr int kNone = 1000;
  std::uint16_t largest_ = 0;
  int least_ = kNone;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_ROW_VALUES_H_
