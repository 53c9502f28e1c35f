#include "oracle/layouts/interleaved_rope.h"

#include <cmath>
#include <cstddef>

#include "oracle/bf16.h"

namespace mlafuzz::oracle {
namespace {

std::uint16_t Rounded(float x) {
  return std::isnan(x) ? kBf16Nan : Bf16FromFloat(x, Rounding::kNearestEven);
}

}  // namespace

void RotateInterleaved(absl::Span<const std::uint16_t> values,
                       absl::Span<const float> cos_sin,
                       absl::Span<std::uint16_t> rotated) {
  const std::size_t pairs = values.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = Bf16Value(values[2 * i]);
    const float b = Bf16Value(values[2 * i + 1]);
    const float cos = cos_sin[i];
    const float sin = cos_sin[pairs + i];
    rotated[2 * i] = Rounded(a * cos - b * sin);
    rotated[2 * i + 1] = Rounded(a * sin + b * cos);
  }
}

}  // namespace mlafuzz::oracle
