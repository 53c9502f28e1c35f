#ifndef MLAFUZZ_ORACLE_UPCONVERT_H_
#define MLAFUZZ_ORACLE_UPCONVERT_H_

#include <array>
#include <cstdint>

#include "corpus/contract.pb.h"
#include "oracle/device/codes.h"

namespace mlafuzz::oracle {

// Rules of a gather, as oracle/device/codes.h has them. Of SCALE_FIRST_TILE: as
// stored.
E4m3Reading E4m3ReadingOf(const GatherContract& contract);
ScaleReading ScaleReadingOf(const GatherContract& contract);
ProductRounding ProductRoundingOf(const GatherContract& contract);

// The rules by which a gather turns codes and a scale into bf16, taken out of
// a GatherContract once.
class Upconverter {
 public:
  explicit Upconverter(const GatherContract& contract);

  // The scale that the reader multiplies by, from the stored fp32 bits.
  //   SCALE_POW2_FLOOR: sign and exponent field alone, as an exponent-only
  //     format keeps them (a subnormal becomes 0, NaN infinite).
  //   SCALE_POW2_CEIL: 2^ceil(log2 |s|) with the sign of s.
  float ReadScale(std::uint32_t stored) const;

  // The bf16 of one code: exact value, one fp32 product, one rounding. Every
  // NaN is 0x7FFF; under NAN_ANY it stands for any NaN.
  std::uint16_t Value(std::uint8_t code, float scale) const;

 private:
  const std::array<float, 256>& values_;
  ScaleReading scale_;
  ProductRounding product_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_UPCONVERT_H_
