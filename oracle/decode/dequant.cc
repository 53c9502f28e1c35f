#include "oracle/decode/dequant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/decode/rounding.h"
#include "oracle/e4m3.h"
#include "oracle/layout.h"
#include "oracle/layouts/ue8m0.h"
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
std::uint32_t CommonBits(const std::uint8_t* codes, int count) {
  static const std::array<std::uint32_t, 256> kUnits = [] {
    std::array<std::uint32_t, 256> units;
    for (int c = 0; c < 256; ++c) {
      const double x = std::fabs(E4m3Values(E4m3Reading::kFn)[c]) / kLeastCode;
      units[c] = std::isfinite(x) ? static_cast<std::uint32_t>(x) : 0;
    }
    return units;
  }();
  std::uint32_t bits = 0;
  for (int i = 0; i < count; ++i) bits |= kUnits[codes[i]];
  return bits;
}

}  // namespace

ValueTiles TilesOf(const RowLayout& layout) {
  return {.columns = layout.tile,
          .count = kLatent / layout.tile,
          .scaled = layout.tiles()};
}

bool IsDecoded(const RowLayout& layout) {
  return !layout.copied &&
         (layout.codes == kLatent || layout.columns() == kLatent);
}

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

ReadScale ReadTileScale(const ReaderSide& side, std::uint8_t stored) {
  if (side.scale_rule() == ReaderSide::SCALE_ONE) return {1.0f};
  using Reading = Ue8m0Reading;
  return {Ue8m0Value(
      stored,
      {.zero = side.ue8m0_zero() == ZERO_IS_ZERO ? Reading::Zero::kZero
                                                 : Reading::Zero::kSubnormal,
       .last = side.ue8m0_last() == LAST_IS_INF ? Reading::Last::kInf
                                                : Reading::Last::kNan})};
}

Dequantiser::Dequantiser(const RowLayout& layout, const ReaderSide& side,
                         const Arithmetic& arithmetic, bool codes, Rope rope)
    : layout_(layout),
      tiles_(TilesOf(layout)),
      side_(side),
      rope_(rope),
      mode_(arithmetic.dequantised()),
      denormals_(arithmetic.denormals()),
      codes_(codes),
      table_(E4m3Values(E4m3Reading::kFn)) {}

TileScales Dequantiser::Scales(const std::uint8_t* token) const {
  TileScales scales{};
  const std::uint8_t* stored = token + layout_.scales_at;
  for (int t = 0; t < tiles_.count; ++t) {
    if (t >= tiles_.scaled) {
      scales[t] = {1.0f};
    } else if (layout_.scale_kind == RowLayout::Scales::kUe8m0) {
      scales[t] = ReadTileScale(side_, stored[t]);
    } else {
      scales[t] = ReadTileScale(side_.scale_rule(),
                                LoadBytes<std::uint32_t>(stored + 4 * t));
    }
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
  const bool ue8m0 = layout_.scale_kind == RowLayout::Scales::kUe8m0;
  return &layout_ == &other.layout_ &&
         side_.scale_rule() == other.side_.scale_rule() &&
         (!ue8m0 || (side_.ue8m0_zero() == other.side_.ue8m0_zero() &&
                     side_.ue8m0_last() == other.side_.ue8m0_last())) &&
         rope_.read == other.rope_.read &&
         rope_.scaled_by == other.rope_.scaled_by && mode_ == other.mode_ &&
         denormals_ == other.denormals_ && codes_ == other.codes_;
}

void Dequantiser::FastTile(const std::uint8_t* codes, float scale,
                           double* values) const {
  const int n = tiles_.columns;
  float product[kMaxTileColumns];
  for (int i = 0; i < n; ++i) product[i] = table_[codes[i]];
  if (codes_) {
    for (int i = 0; i < n; ++i) values[i] = product[i];
    return;
  }
  switch (mode_) {
    case Arithmetic::DEQUANTISED_BF16: {
      std::uint32_t bits[kMaxTileColumns];
      for (int i = 0; i < n; ++i) product[i] *= scale;
      std::memcpy(bits, product, sizeof(float) * static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        // Nearest even in integers; a carry moves to the next octave. The NaN
        // of table_ has room for the carry.
        bits[i] = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) & 0xffff0000;
      }
      std::memcpy(product, bits, sizeof(float) * static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) values[i] = product[i];
      return;
    }
    case Arithmetic::DEQUANTISED_FP32:
      for (int i = 0; i < n; ++i) product[i] *= scale;
      for (int i = 0; i < n; ++i) values[i] = product[i];
      return;
    default: {
      const double exact = scale;
      for (int i = 0; i < n; ++i) values[i] = product[i] * exact;
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
  const int n = tiles_.columns;
  const bool subnormal_scale =
      scale != 0 && std::fabs(scale) < static_cast<float>(kFp32MinNormal);
  for (int i = 0; i < n; ++i) {
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

void Dequantiser::ReadOwnRope(const std::uint8_t* token,
                              const TileScales& scales, double* values,
                              RowFacts* facts) const {
  double* rope = values + tiles_.rope_at();
  if (!rope_.read) {
    std::fill_n(rope, kRope, 0.0);
    return;
  }
  const RowFacts own =
      ReadRope(token + layout_.rope_at, facts->granule != 0, rope);
  facts->finite &= own.finite;
  facts->largest = std::max(facts->largest, own.largest);
  facts->granule = std::min(facts->granule, own.granule);
  if (rope_.scaled_by < 0 || codes_) return;
  // Of a wrong kernel: nothing is simulated beyond the product.
  facts->granule = 0;
  for (int i = 0; i < kRope; ++i) {
    rope[i] *= static_cast<double>(scales[rope_.scaled_by].value);
    if (mode_ == Arithmetic::DEQUANTISED_BF16) rope[i] = RoundBf16(rope[i]);
    facts->finite &= std::isfinite(rope[i]);
    if (std::isfinite(rope[i])) {
      facts->largest = std::max(facts->largest, std::fabs(rope[i]));
    }
  }
}

RowFacts Dequantiser::Row(const std::uint8_t* token, double* values,
                          double* radius) const {
  RowFacts facts;
  facts.granule = kInfinity;
  const TileScales scales = Scales(token);
  const int n = tiles_.columns;
  bool slow[kMaxTiles] = {};
  bool any_slow = false;
  for (int t = 0; t < tiles_.scaled; ++t) {
    const std::uint8_t* codes = token + layout_.codes_at + n * t;
    double* out = values + n * t;
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
      any_slow |= slow[t];
    }
    if (!slow[t]) {
      FastTile(codes, scale, out);
      // Values grow with the code's magnitude, and NaN has the largest.
      std::uint8_t most = 0;
      for (int i = 0; i < n; ++i) {
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
    const std::uint32_t bits = CommonBits(codes, n);
    if (bits == 0) continue;
    facts.granule =
        std::min(facts.granule, kLeastCode * std::fabs(one) *
                                    std::ldexp(1.0, std::countr_zero(bits)));
  }
  if (any_slow) {
    std::fill_n(radius, kLatent, 0.0);
    for (int t = 0; t < tiles_.scaled; ++t) {
      if (!slow[t]) continue;
      const int at = n * t;
      SlowTile(token + layout_.codes_at + at, scales[t].value, values + at,
               radius + at, &facts);
    }
  }
  if (tiles_.scaled < tiles_.count) {
    ReadOwnRope(token, scales, values, &facts);
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
  facts.largest = facts.finite ? Bf16Value(largest) : kInfinity;
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
