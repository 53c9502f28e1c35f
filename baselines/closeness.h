// The comparisons of the published tests, to the operation.
#ifndef MLAFUZZ_BASELINES_CLOSENESS_H_
#define MLAFUZZ_BASELINES_CLOSENESS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace mlafuzz::baselines {

struct Tolerance {
  float atol;
  float rtol;
};

// torch.isclose: equal, or |a - b| <= atol + |rtol * b| with a finite left side
// (so NaN is close to nothing). In the tensors' own type, each operation
// rounded.
bool IsCloseFp32(float a, float b, Tolerance tolerance);
bool IsCloseBf16(std::uint16_t a, std::uint16_t b, Tolerance tolerance);

// torch.testing.assert_close of tensors of one shape: empty, or the first
// element that is not close, in words that begin with `name`. Bytes are
// compared as numbers in fp32.
std::string WhyNotClose(const std::string& name, absl::Span<const float> actual,
                        absl::Span<const float> expected, Tolerance tolerance);
std::string WhyNotClose(const std::string& name,
                        absl::Span<const std::uint16_t> actual_bf16,
                        absl::Span<const std::uint16_t> expected_bf16,
                        Tolerance tolerance);
std::string WhyNotClose(const std::string& name,
                        absl::Span<const std::uint8_t> actual,
                        absl::Span<const std::uint8_t> expected,
                        Tolerance tolerance);
std::string WhyNotEqual(const std::string& name,
                        absl::Span<const std::int32_t> actual,
                        absl::Span<const std::int32_t> expected);

// FlashMLA's tests/kernelkit/compare.py: NaN, +Inf and -Inf in the same places;
// every other element's absolute or relative error below its limit; and the
// whole tensor's cosine difference 1 - 2 sum(ab) / sum(aa + bb) at most
// `cosine`, unless the expected tensor is all but zero.
struct FlashMlaTolerance {
  float absolute;
  float relative;
  double cosine;
};
std::string WhyNotFlashMlaClose(const std::string& name,
                                absl::Span<const float> actual,
                                absl::Span<const float> expected,
                                const FlashMlaTolerance& tolerance);

// sum(ab) / sqrt(sum(aa) sum(bb)); NaN if either is zero or not finite.
double CosineSimilarity(absl::Span<const float> a, absl::Span<const float> b);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_CLOSENESS_H_
