#include "oracle/decode/dequant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/decode/rounding.h"
#include "oracle/e4m3.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

// Built with -ffp-contract=off: each fp32 operation rounds once.
namespace mlafuzz::oracle {
namespace {

constexpr double kLeastCode = 0x1p-9;  // of E4M3, above zero

bool IsPositiveNormal(float x) {
  return x >= static_cast<float>(kFp32MinNormal) && std::isfinite(x);
}

// All codes of a tile as multiples of 2^-9, or-ed: its lowest bit is the
// greatest common power of two. NaN codes count as zero.
std::uint32_t CommonBits(const std::uint8_t* codes) {
  static const std::array<std::uint32_t, 256> kUnits = [] {
    std::array<std::uint32_t, 256> units;
    for (int c = 0; c < 256; ++c) {
      const double x = std::fabs(E4m3Values(E4m3Reading::kFn)[c]) / kLeastCode;
      units[c] = std::isfinite(x) ? static_cast<std::uint32_t>(x) : 0;
    }
    return units;
  }();
  std::uint32_t bits = 0;
  for (int i = 0; i < kTileColumns; ++i) bits |= kUnits[codes[i]];
  return bits;
}

}  // namespace

ReadScale ReadTileScale(ReaderSide::ScaleRule rule, std::uint32_t stored) {
  const float scale = std::bit_cast<float>(stored);
  switch (rule) {
    case ReaderSide::SCALE_POW2_FLOOR:
    case ReaderSide::SCALE_POW2_CEIL: {
      // An exponent-only format has neither sign nor zero, and its byte 255 is
      // NaN on one path and infinite on another.
      if (!IsPositiveNormal(scale)) return {scale, true};
      const std::uint32_t floor = stored & 0x7f800000;
      const bool up =
          rule == ReaderSide::SCALE_POW2_CEIL && (stored & 0x7fffff) != 0;
      return {std::bit_cast<float>(floor + (up ? 0x00800000u : 0u))};
    }
    case ReaderSide::SCALE_BF16:
      return {Bf16Value(Bf16FromFloat(scale, Rounding::kNearestEven))};
    case ReaderSide::SCALE_ONE:
      return {1.0f};
    default:
      return {scale};
  }
}

Dequantiser::Dequantiser(const ReaderSide& side, const Arithmetic& arithmetic,
                         bool codes)
    : rule_(side.scale_rule()),
      mode_(arithmetic.dequantised()),
      denormals_(arithmetic.denormals()),
      codes_(codes),
      table_(E4m3Values(E4m3Reading::kFn)) {}

std::array<ReadScale, kTiles> Dequantiser::Scales(
    const std::uint8_t* row) const {
  std::array<ReadScale, kTiles> scales;
  for (int t = 0; t < kTiles; ++t) {
    scales[t] = ReadTileScale(
        rule_, LoadBytes<std::uint32_t>(row + kFp8DsMla.scales_at + 4 * t));
  }
  return scales;
}

double Dequantiser::roundings() const {
  // Codes alone: the scale multiplies a partial sum.
  return !codes_ && mode_ == Arithmetic::DEQUANTISED_CODES ? 1 : 0;
}

bool Dequantiser::scale_may_follow() const {
  return !codes_ && (mode_ == Arithmetic::DEQUANTISED_CODES ||
                     mode_ == Arithmetic::DEQUANTISED_UNKNOWN);
}

bool Dequantiser::short_products() const {
  return codes_ || mode_ == Arithmetic::DEQUANTISED_BF16 ||
         mode_ == Arithmetic::DEQUANTISED_CODES;
}

bool Dequantiser::SameAs(const Dequantiser& other) const {
  return rule_ == other.rule_ && mode_ == other.mode_ &&
         denormals_ == other.denormals_ && codes_ == other.codes_;
}

void Dequantiser::FastTile(const std::uint8_t* codes, float scale,
                           double* values) const {
  float product[kTileColumns];
  for (int i = 0; i < kTileColumns; ++i) product[i] = table_[codes[i]];
  if (codes_) {
    for (int i = 0; i < kTileColumns; ++i) values[i] = product[i];
    return;
  }
  switch (mode_) {
    case Arithmetic::DEQUANTISED_BF16: {
      std::uint32_t bits[kTileColumns];
      for (int i = 0; i < kTileColumns; ++i) product[i] *= scale;
      std::memcpy(bits, product, sizeof bits);
      for (int i = 0; i < kTileColumns; ++i) {
        // Nearest even in integers; a carry moves to the next octave. The NaN
        // of table_ has room for the carry.
        bits[i] = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) & 0xffff0000;
      }
      std::memcpy(product, bits, sizeof bits);
      for (int i = 0; i < kTileColumns; ++i) values[i] = product[i];
      return;
    }
    case Arithmetic::DEQUANTISED_FP32:
      for (int i = 0; i < kTileColumns; ++i) product[i] *= scale;
      for (int i = 0; i < kTileColumns; ++i) values[i] = product[i];
      return;
    default: {
      const double exact = scale;
      for (int i = 0; i < kTileColumns; ++i) values[i] = product[i] * exact;
      return;
    }
  }
}

void Dequantiser::SlowTile(const std::uint8_t* codes, float scale,
                           double* values, double* radius,
                           RowFacts* facts) const {
  // Where the scale follows a sum, an infinite one turns zeros into NaN or not.
  if (std::isinf(scale) && mode_ != Arithmetic::DEQUANTISED_FP32 &&
      mode_ != Arithmetic::DEQUANTISED_BF16) {
    facts->unknown = true;
  }
  const bool subnormal_scale =
      scale != 0 && std::fabs(scale) < static_cast<float>(kFp32MinNormal);
  for (int i = 0; i < kTileColumns; ++i) {
    const double exact =
        static_cast<double>(table_[codes[i]]) * static_cast<double>(scale);
    double x = exact;
    double r = 0;
    if (mode_ == Arithmetic::DEQUANTISED_FP32 ||
        mode_ == Arithmetic::DEQUANTISED_BF16) {
      x = table_[codes[i]] * scale;
      if (mode_ == Arithmetic::DEQUANTISED_BF16) x = RoundBf16(x);
    } else if (mode_ == Arithmetic::DEQUANTISED_UNKNOWN) {
      // bf16 is the coarsest; its half step below the normal range is 2^-134.
      r = std::max(kUBf16 * std::fabs(exact), 0x1p-134);
      if (std::fabs(exact) >= kFp32Max) r = kInfinity;
    }
    // DEQUANTISED_CODES never forms the product.
    const bool product = mode_ != Arithmetic::DEQUANTISED_CODES;
    const bool subnormal =
        product && x != 0 && std::fabs(exact) < kFp32MinNormal;
    // Rounded up into the normal range: before the flush or after it.
    const bool edge = subnormal && std::fabs(x) >= kFp32MinNormal;
    if (subnormal && !edge && denormals_ == Arithmetic::DENORMALS_FLUSHED) {
      x = 0;
    }
    if (exact != 0 && denormals_ != Arithmetic::DENORMALS_KEPT) {
      // Whether a subnormal operand counts as zero is told apart from results:
      // FlashMLA keeps the scale and flushes the product.
      const bool open =
          subnormal_scale || edge ||
          (subnormal && denormals_ == Arithmetic::DENORMALS_UNKNOWN);
      if (open) r = std::max(r, std::fabs(x));
    }
    values[i] = x;
    radius[i] = r;
    if (r != 0) facts->has_radius = true;
    if (std::isfinite(x)) {
      facts->largest = std::max(facts->largest, std::fabs(x));
    } else {
      facts->finite = false;
    }
  }
}

RowFacts Dequantiser::Row(const std::uint8_t* row, double* values,
                          double* radius) const {
  RowFacts facts;
  facts.granule = kInfinity;
  const std::array<ReadScale, kTiles> scales = Scales(row);
  bool slow[kTiles] = {};
  for (int t = 0; t < kTiles; ++t) {
    const std::uint8_t* codes = row + kFp8DsMla.codes_at + kTileColumns * t;
    double* out = values + kTileColumns * t;
    const float scale = scales[t].value;
    if (!codes_) {
      facts.unknown |= scales[t].unknown;
      if (scale_may_follow() && std::isfinite(scale)) {
        facts.growth = std::max<double>(facts.growth, std::fabs(scale));
      }
      // Anything below the normal range, not finite or of unknown rounding.
      slow[t] = !std::isfinite(scale) ||
                mode_ == Arithmetic::DEQUANTISED_UNKNOWN ||
                std::fabs(scale) * kLeastCode < kFp32MinNormal;
    }
    if (!slow[t]) {
      FastTile(codes, scale, out);
      // Values grow with the code's magnitude, and NaN has the largest.
      std::uint8_t most = 0;
      for (int i = 0; i < kTileColumns; ++i) {
        most = std::max<std::uint8_t>(most, codes[i] & 0x7f);
      }
      // A bf16 may be rounded up by 2^-8 of itself.
      const double largest =
          table_[most] * (codes_ ? 1.0 : std::fabs(scale) * (1 + kUBf16));
      if (largest < kFp32Max) {
        facts.largest = std::max(facts.largest, largest);
      } else {
        facts.finite = false;  // or close to it
        facts.largest = kInfinity;
      }
    }
    if (facts.granule == 0) continue;
    // Products with a power of two keep the codes' own granule.
    const float one = codes_ ? 1.0f : scale;
    int exponent;
    if (slow[t] || !std::isfinite(one) ||
        std::fabs(std::frexp(one, &exponent)) != 0.5f) {
      facts.granule = 0;
      continue;
    }
    const std::uint32_t bits = CommonBits(codes);
    if (bits == 0) continue;
    facts.granule =
        std::min(facts.granule, kLeastCode * std::fabs(one) *
                                    std::ldexp(1.0, std::countr_zero(bits)));
  }
  if (slow[0] || slow[1] || slow[2] || slow[3]) {
    std::fill_n(radius, kLatent, 0.0);
    for (int t = 0; t < kTiles; ++t) {
      if (!slow[t]) continue;
      const int at = kTileColumns * t;
      SlowTile(row + kFp8DsMla.codes_at + at, scales[t].value, values + at,
               radius + at, &facts);
    }
  }
  if (!facts.finite) facts.granule = 0;
  return facts;
}

RowFacts ReadRope(const std::uint8_t* bytes, bool with_granule,
                  double* values) {
  RowFacts facts;
  std::uint16_t words[kRope];
  std::memcpy(words, bytes, sizeof words);
  for (int i = 0; i < kRope; ++i) values[i] = Bf16Value(words[i]);
  std::uint16_t largest = 0;
  for (int i = 0; i < kRope; ++i) {
    largest = std::max<std::uint16_t>(largest, words[i] & 0x7fff);
  }
  facts.finite = largest < 0x7f80;
  if (!with_granule || !facts.finite) return facts;
  facts.granule = kInfinity;
  for (int i = 0; i < kRope; ++i) {
    const int exponent = words[i] >> 7 & 0xff;
    const unsigned fraction = (words[i] & 0x7f) | (exponent != 0 ? 0x80 : 0);
    if (fraction == 0) continue;
    facts.granule = std::min(facts.granule,
                             std::ldexp(1.0, std::max(exponent, 1) - 127 - 7 +
                                                 std::countr_zero(fraction)));
  }
  return facts;
}

}  // namespace mlafuzz::oracle
