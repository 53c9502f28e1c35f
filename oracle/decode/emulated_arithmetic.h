#ifndef MLAFUZZ_ORACLE_DECODE_EMULATED_ARITHMETIC_H_
#define MLAFUZZ_ORACLE_DECODE_EMULATED_ARITHMETIC_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "corpus/contract.pb.h"
#include "oracle/decode/emulated_floats.h"

namespace mlafuzz::emulated {

// The arithmetic of one emulated kernel, in fp32: what the contract declares,
// and one choice, drawn once, of what it leaves free.
class EmulatedArithmetic {
 protected:
  EmulatedArithmetic(const Arithmetic& arithmetic, std::mt19937_64& random);

  std::uint64_t Draw(std::uint64_t n) { return random_() % n; }
  bool Chance(std::uint64_t n) { return Draw(n) == 0; }
  float Flush(float x) const {
    return flush_ && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
  }
  bool ScaledWeights() const {
    return weights_ == Arithmetic::WEIGHTS_E4M3 ||
           weights_ == Arithmetic::WEIGHTS_E4M3_TWO_PASS;
  }

  // Of one tile of a token's bytes in one run; 1 of a tile of rope.
  float ReadScale(const ReaderSide& side, const std::uint8_t* row, int tile);
  float DequantisedValue(Arithmetic::Dequantised mode, int code, float scale);

  // Sums terms by the drawn order; each addition correctly rounded. Products
  // a[i] * b[i] round first, or with the addition.
  float Sum(const std::vector<float>& a, const std::vector<float>& b,
            float start, bool fp8);
  // Tensor cores: mma_step_ exact products and the accumulator aligned to the
  // largest, cut to mma_bits_.
  float MmaSum(const std::vector<float>& a, const std::vector<float>& b,
               float start, bool fp8);
  float PlainSum(const std::vector<float>& a, float start);

  float Exp2(float x);
  float Log2(float x);
  float Divide(float a, float b);

  // The token's layout; 656-byte rows, or DeepSeek-V4's with its footer.
  bool footer_ = false;
  int tile() const { return footer_ ? 64 : 128; }
  int tiles() const { return 512 / tile(); }
  int codes() const { return footer_ ? 448 : 512; }

  const Arithmetic& a_;
  std::mt19937_64& random_;
  bool flush_, fp8_, mma_, fused_, reciprocal_;
  Arithmetic::Dequantised dequantised_;
  Arithmetic::Query query_;
  Arithmetic::Weights weights_;
  Arithmetic::Partials partials_;
  int mma_bits_;
  std::size_t mma_step_;
  std::int64_t block_;
  int order_, scaling_, sink_form_, exp_sign_;
};

}  // namespace mlafuzz::emulated

#endif  // MLAFUZZ_ORACLE_DECODE_EMULATED_ARITHMETIC_H_
