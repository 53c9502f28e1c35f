#include "oracle/quantise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "oracle/bf16.h"
#include "oracle/device/codes.h"
#include "oracle/e4m3.h"
#include "oracle/half.h"

// Every fp32 operation below stands alone in its statement, and the target is
// built with -ffp-contract=off: two roundings must not become one.
namespace mlafuzz::oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargestCode = 448.0f;
constexpr std::size_t kMaxTile = 128;

float ScaleNan() { return std::bit_cast<float>(0x7fffffffu); }

}  // namespace

float Pow2Ceil(float x) { return Pow2CeilOf(x); }

float InputValue(DType input, std::uint16_t bits) {
  return input == F16 ? HalfValue(bits) : Bf16Value(bits);
}

Quantiser::Quantiser(const WriterContract& c)
    : scale_(c.scale()),
      scale_division_(c.scale_division()),
      floor_(c.floor()),
      floor_value_(std::bit_cast<float>(c.floor_bits())),
      code_division_(c.code_division()),
      rounding_(c.code_rounding()),
      nan_(c.nan()),
      inf_(c.inf()),
      negative_zero_(c.negative_zero()),
      fp16_amax_(c.fp16_amax()),
      fp32_values_(c.fp32_values()) {}

float Quantiser::Fp32Input(float x) const {
  return fp32_values_ == WriterContract::FP32_THROUGH_BF16
             ? Bf16Value(Bf16FromFloat(x, Rounding::kNearestEven))
             : x;
}

float Quantiser::TileAmax(DType input,
                          absl::Span<const std::uint16_t> x) const {
  if (input == F16 && fp16_amax_ == WriterContract::FP16_RAW_BITS) {
    std::uint16_t largest = 0;
    for (std::uint16_t bits : x) largest = std::max(largest, bits);
    return static_cast<float>(largest);
  }
  std::array<float, kMaxTile> values;
  const std::size_t n = std::min(x.size(), kMaxTile);
  for (std::size_t i = 0; i < n; ++i) values[i] = InputValue(input, x[i]);
  return TileAmax(absl::MakeConstSpan(values.data(), n));
}

float Quantiser::TileAmax(absl::Span<const float> x) const {
  float amax = 0;
  bool nan = false;
  for (const float value : x) {
    const float magnitude = std::fabs(value);
    if (std::isnan(magnitude)) {
      nan = true;
    } else if (magnitude == kInfinity &&
               inf_ == WriterContract::INF_SATURATES) {
      continue;
    } else {
      amax = std::max(amax, magnitude);
    }
  }
  if (nan && nan_ == WriterContract::NAN_POISONS_SCALE) return ScaleNan();
  return amax;
}

float Quantiser::TileScale(float amax) const {
  if (std::isnan(amax)) return ScaleNan();
  float dividend = amax;
  if (floor_ == WriterContract::FLOOR_ON_AMAX) {
    dividend = std::max(dividend, floor_value_);
  }
  float scale;
  if (scale_division_ == WriterContract::TIMES_RECIPROCAL) {
    const float reciprocal = 1.0f / kLargestCode;
    scale = dividend * reciprocal;
  } else {
    scale = dividend / kLargestCode;
  }
  if (floor_ == WriterContract::FLOOR_ON_SCALE) {
    scale = std::max(scale, floor_value_);
  }
  return scale_ == WriterContract::POW2_CEIL ? Pow2Ceil(scale) : scale;
}

void Quantiser::TileCodes(DType input, absl::Span<const std::uint16_t> x,
                          float scale, absl::Span<std::uint8_t> codes) const {
  std::array<float, kMaxTile> values;
  const std::size_t n = std::min(x.size(), kMaxTile);
  for (std::size_t i = 0; i < n; ++i) values[i] = InputValue(input, x[i]);
  TileCodes(absl::MakeConstSpan(values.data(), n), scale, codes);
}

void Quantiser::TileCodes(absl::Span<const float> x, float scale,
                          absl::Span<std::uint8_t> codes) const {
  std::array<float, kMaxTile> quotients;
  const std::size_t n = std::min(x.size(), kMaxTile);
  for (std::size_t i = 0; i < n; ++i) quotients[i] = x[i];
  if (code_division_ == WriterContract::CODE_RECIPROCAL) {
    const float reciprocal = 1.0f / scale;
    for (std::size_t i = 0; i < n; ++i) {
      quotients[i] = quotients[i] * reciprocal;
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) quotients[i] = quotients[i] / scale;
  }
  if (rounding_ == WriterContract::THROUGH_FP16) {
    for (std::size_t i = 0; i < n; ++i) {
      quotients[i] = HalfValue(HalfFromFloat(quotients[i]));
    }
  }
  E4m3FromFloats(absl::MakeConstSpan(quotients.data(), n),
                 rounding_ == WriterContract::TOWARD_ZERO
                     ? Rounding::kTowardZero
                     : Rounding::kNearestEven,
                 codes.subspan(0, n));
  if (nan_ == WriterContract::NAN_TO_MINUS_448) {
    for (std::size_t i = 0; i < n; ++i) {
      if (codes[i] == kE4m3Nan) codes[i] = 0x80 | kE4m3Max;
    }
  }
  if (negative_zero_ == WriterContract::NEGATIVE_ZERO_POSITIVE) {
    for (std::size_t i = 0; i < n; ++i) {
      if (codes[i] == 0x80) codes[i] = 0;
    }
  }
}

}  // namespace mlafuzz::oracle
