#ifndef MLAFUZZ_ORACLE_QUANTISE_H_
#define MLAFUZZ_ORACLE_QUANTISE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/types.pb.h"
#include "oracle/round_bits.h"

namespace mlafuzz::oracle {

// The rules by which a writer turns one tile of 16-bit values into a scale and
// codes, taken out of a WriterContract once. All arithmetic is fp32, one
// rounding an operation, subnormals kept.
class Quantiser {
 public:
  explicit Quantiser(const WriterContract& contract);

  // The largest magnitude that counts: NaN never (or the whole, see Nan),
  // infinities as Inf says, fp16 patterns as integers under FP16_RAW_BITS.
  // `input` is BF16 or F16.
  float TileAmax(DType input, absl::Span<const std::uint16_t> x) const;

  // The scale that is stored and divided by. A NaN amax gives the NaN
  // 0x7FFFFFFF.
  float TileScale(float amax) const;

  // The same of values that are fp32, after what Fp32Values says of them.
  float TileAmax(absl::Span<const float> x) const;
  float Fp32Input(float x) const;

  // x.size() codes of a tile under `scale`. A quotient that is NaN though its
  // input is not (Inf / Inf, 0 / 0) takes the code of NaN.
  void TileCodes(DType input, absl::Span<const std::uint16_t> x, float scale,
                 absl::Span<std::uint8_t> codes) const;
  void TileCodes(absl::Span<const float> x, float scale,
                 absl::Span<std::uint8_t> codes) const;

 private:
  WriterContract::Scale scale_;
  WriterContract::ScaleDivision scale_division_;
  WriterContract::Floor floor_;
  float floor_value_;
  WriterContract::CodeDivision code_division_;
  WriterContract::CodeRounding rounding_;
  WriterContract::Nan nan_;
  WriterContract::Inf inf_;
  WriterContract::NegativeZero negative_zero_;
  WriterContract::Fp16Amax fp16_amax_;
  WriterContract::Fp32Values fp32_values_;
};

// 2^ceil(log2(x)) of a non-negative x, exact for subnormals too; zero, infinity
// and NaN are returned as they are; above 2^127 infinity.
float Pow2Ceil(float x);

// The fp32 value of a 16-bit input, exact.
float InputValue(DType input, std::uint16_t bits);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_QUANTISE_H_
