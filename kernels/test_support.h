// For tests of this folder: number formats by their definitions in double
// precision (slow, plain, and not those of oracle/), and cases run by hand.
#ifndef MLAFUZZ_KERNELS_TEST_SUPPORT_H_
#define MLAFUZZ_KERNELS_TEST_SUPPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"

namespace mlafuzz::test {

// ----------------------------------------------------------------- Definitions

// Value of a small float by the bits of its parts; no special values.
double DecodeBits(unsigned bits, int exponent_bits, int mantissa_bits);
double Bf16Value(unsigned bits);
double Fp16Value(unsigned bits);
double E4m3Value(unsigned code);
// The code nearest to `value`, the even one of two; saturates, NaN is 0x7F.
unsigned NearestE4m3(double value);
// The bf16 nearest to the fp32 `value`, the even one of two; NaN is 0x7FFF.
unsigned NearestBf16(float value);
// Equal, NaN and the sign of zero included.
bool SameValue(double a, double b);

// The 528 payload bytes of a row: 512 codes and 4 scales. `pow2`: the scale is
// the least power of two that is not below max(amax / 448, 1e-4).
std::array<std::uint8_t, 528> QuantisedRow(const std::uint16_t* latent,
                                           bool fp16, bool pow2);
// The 576 workspace values of a row; a zero tail for `nope`.
std::array<std::uint16_t, 576> GatheredRow(const std::uint8_t* row, bool nope);

// ----------------------------------------------------------------------- Cases

// Ends the test program if the text is no case.
Case ParseCase(const std::string& text);
// Keeps a copy of the case for the image to point to.
CaseImage Image(const Case& c);

// Runs an image on a target of this name with an executor of its own.
Observation Run(const std::string& target, const CaseImage& image);
TargetSet Targets(const std::string& name);

// Equal in all that a target is answerable for.
bool SameOutcome(const StepObservation& a, const StepObservation& b);
bool SameOutcome(const Observation& a, const Observation& b);

// A cheap source of bytes for inputs.
class Bytes {
 public:
  explicit Bytes(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

 private:
  std::uint64_t state_;
};

}  // namespace mlafuzz::test

#endif  // MLAFUZZ_KERNELS_TEST_SUPPORT_H_
