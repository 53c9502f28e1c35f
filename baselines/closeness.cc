#include "baselines/closeness.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "baselines/formats.h"

namespace mlafuzz::baselines {
namespace {

std::string Differs(const std::string& name, std::size_t at, double actual,
                    double expected) {
  return absl::StrCat(name, "[", at, "] is ", actual, ", should be ", expected);
}

// `close(a, b)` of elements, `number` of one for words.
template <class T, class Close, class Number>
std::string FirstNotClose(const std::string& name, absl::Span<const T> actual,
                          absl::Span<const T> expected, Close close,
                          Number number) {
  if (actual.size() != expected.size()) {
    return absl::StrCat(name, " has ", actual.size(), " elements, should have ",
                        expected.size());
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!close(actual[i], expected[i])) {
      return Differs(name, i, number(actual[i]), number(expected[i]));
    }
  }
  return "";
}

constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

bool IsCloseFp32(float a, float b, Tolerance tolerance) {
  if (a == b) return true;
  const float error = std::fabs(a - b);
  return std::isfinite(error) &&
         error <= tolerance.atol + std::fabs(tolerance.rtol * b);
}

bool IsCloseBf16(std::uint16_t a_bits, std::uint16_t b_bits,
                 Tolerance tolerance) {
  const float a = FromBf16(a_bits);
  const float b = FromBf16(b_bits);
  if (a == b) return true;
  const float error = RoundToBf16(std::fabs(a - b));
  const float relative = RoundToBf16(std::fabs(tolerance.rtol * b));
  return std::isfinite(error) &&
         error <= RoundToBf16(tolerance.atol + relative);
}

std::string WhyNotClose(const std::string& name, absl::Span<const float> actual,
                        absl::Span<const float> expected, Tolerance tolerance) {
  return FirstNotClose(
      name, actual, expected,
      [&](float a, float b) { return IsCloseFp32(a, b, tolerance); },
      [](float value) { return static_cast<double>(value); });
}

std::string WhyNotClose(const std::string& name,
                        absl::Span<const std::uint16_t> actual_bf16,
                        absl::Span<const std::uint16_t> expected_bf16,
                        Tolerance tolerance) {
  return FirstNotClose(
      name, actual_bf16, expected_bf16,
      [&](std::uint16_t a, std::uint16_t b) {
        return IsCloseBf16(a, b, tolerance);
      },
      [](std::uint16_t bits) { return static_cast<double>(FromBf16(bits)); });
}

std::string WhyNotClose(const std::string& name,
                        absl::Span<const std::uint8_t> actual,
                        absl::Span<const std::uint8_t> expected,
                        Tolerance tolerance) {
  return FirstNotClose(
      name, actual, expected,
      [&](std::uint8_t a, std::uint8_t b) {
        return IsCloseFp32(a, b, tolerance);
      },
      [](std::uint8_t byte) { return static_cast<double>(byte); });
}

std::string WhyNotEqual(const std::string& name,
                        absl::Span<const std::int32_t> actual,
                        absl::Span<const std::int32_t> expected) {
  return FirstNotClose(
      name, actual, expected,
      [](std::int32_t a, std::int32_t b) { return a == b; },
      [](std::int32_t value) { return static_cast<double>(value); });
}

std::string WhyNotFlashMlaClose(const std::string& name,
                                absl::Span<const float> actual,
                                absl::Span<const float> expected,
                                const FlashMlaTolerance& tolerance) {
  double actual_square = 0;
  double expected_square = 0;
  double product = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float a = actual[i];
    const float b = expected[i];
    const bool both_nan = a != a && b != b;
    if (both_nan || (a == b && std::fabs(a) == kInf)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return Differs(name, i, a, b);
    const float error = std::fabs(a - b);
    if (!(error < tolerance.absolute) &&
        !(error / (std::fabs(b) + 1e-6f) < tolerance.relative)) {
      return Differs(name, i, a, b);
    }
    actual_square += static_cast<double>(a) * a;
    expected_square += static_cast<double>(b) * b;
    product += static_cast<double>(a) * b;
  }
  if (expected_square < 1e-12) return "";
  const double difference = 1 - 2 * product / (actual_square + expected_square);
  if (std::fabs(difference) > tolerance.cosine) {
    return absl::StrCat(name, " has a cosine difference of ", difference,
                        ", above ", tolerance.cosine);
  }
  return "";
}

double CosineSimilarity(absl::Span<const float> a, absl::Span<const float> b) {
  double product = 0;
  double a_square = 0;
  double b_square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    a_square += static_cast<double>(a[i]) * a[i];
    b_square += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(a_square * b_square);
}

}  // namespace mlafuzz::baselines
