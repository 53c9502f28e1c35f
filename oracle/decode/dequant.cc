#include "oracle/decode/dequant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/decode/contract_rules.h"
#include "oracle/decode/rounding.h"
#include "oracle/decode/wide.h"
#include "oracle/device/codes.h"
#include "oracle/e4m3.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

// Built with -ffp-contract=off: each fp32 operation rounds once.
namespace mlafuzz::oracle {
namespace {

using Mode = ArithmeticRules::Dequantised;

// All codes of a tile as multiples of 2^-9, or-ed: its lowest bit is the
// greatest common power of two. NaN codes count as zero.
std::uint32_t CommonBits(const std::uint8_t* codes, int count) {
  static const std::array<std::uint32_t, 256> kUnits = [] {
    std::array<std::uint32_t, 256> units;
    for (int c = 0; c < 256; ++c) {
      units[c] = E4m3Units(static_cast<std::uint8_t>(c));
    }
    return units;
  }();
  std::uint32_t bits = 0;
  for (int i = 0; i < count; ++i) bits |= kUnits[codes[i]];
  return bits;
}

// A tile that is not slow. `table`: the values of codes.
MLAFUZZ_ORACLE_WIDE void DequantiseTile(const ValueRules& rules,
                                        const float* table,
                                        const std::uint8_t* codes, int n,
                                        float scale, double* values) {
  float code[kMaxTileColumns];
  for (int i = 0; i < n; ++i) code[i] = table[codes[i]];
  // A loop a rule, so that each is one of vectors.
  const auto each = [&](const ValueRules& rule) __attribute__((always_inline)) {
    for (int i = 0; i < n; ++i) {
      values[i] = DequantisedValue(rule, code[i], scale);
    }
  };
  if (rules.codes) return each({.mode = Mode::kUnknown, .codes = true});
  switch (rules.mode) {
    case Mode::kBf16:
      return each({.mode = Mode::kBf16, .codes = false});
    case Mode::kFp32:
      return each({.mode = Mode::kFp32, .codes = false});
    default:
      return each({.mode = Mode::kCodes, .codes = false});
  }
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

Dequantiser::Dequantiser(const RowLayout& layout, const ReaderSide& side,
                         const Arithmetic& arithmetic, bool codes, Rope rope)
    : layout_(layout),
      tiles_(TilesOf(layout)),
      side_(RulesOf(side)),
      rope_(rope),
      rules_{RulesOf(arithmetic).dequantised, codes},
      denormals_(RulesOf(arithmetic).denormals),
      table_(E4m3Values(E4m3Reading::kFn)) {}

TileScales Dequantiser::Scales(const std::uint8_t* token) const {
  TileScales scales{};
  const std::uint8_t* stored = token + layout_.scales_at;
  for (int t = 0; t < tiles_.count; ++t) {
    if (t >= tiles_.scaled) {
      scales[t] = {1.0f};
    } else if (layout_.scale_kind == RowLayout::Scales::kUe8m0) {
      scales[t] = ReadByteScale(side_, stored[t]);
    } else {
      scales[t] =
          ReadFp32Scale(side_.scale, LoadBytes<std::uint32_t>(stored + 4 * t));
    }
  }
  return scales;
}

bool Dequantiser::SameAs(const Dequantiser& other) const {
  const bool ue8m0 = layout_.scale_kind == RowLayout::Scales::kUe8m0;
  return &layout_ == &other.layout_ && side_.scale == other.side_.scale &&
         (!ue8m0 || (side_.zero_is_zero == other.side_.zero_is_zero &&
                     side_.last_is_inf == other.side_.last_is_inf)) &&
         rope_.read == other.rope_.read &&
         rope_.scaled_by == other.rope_.scaled_by &&
         rules_.mode == other.rules_.mode && denormals_ == other.denormals_ &&
         rules_.codes == other.rules_.codes;
}

void Dequantiser::FastTile(const std::uint8_t* codes, float scale,
                           double* values) const {
  DequantiseTile(rules_, table_.data(), codes, tiles_.columns, scale, values);
}

void Dequantiser::SlowTile(const std::uint8_t* codes, float scale,
                           double* values, double* radius,
                           RowFacts* facts) const {
  // Where the scale follows a sum, an infinite one turns zeros into NaN or not.
  if (std::isinf(scale) && rules_.mode != Mode::kFp32 &&
      rules_.mode != Mode::kBf16) {
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
    if (rules_.mode == Mode::kFp32 || rules_.mode == Mode::kBf16) {
      x = table_[codes[i]] * scale;
      if (rules_.mode == Mode::kBf16) x = RoundBf16(x);
    } else if (rules_.mode == Mode::kUnknown) {
      // bf16 is the coarsest; its half step below the normal range is 2^-134.
      r = std::max(kUBf16 * std::fabs(exact), 0x1p-134);
      if (std::fabs(exact) >= kFp32Max) r = kInfinity;
    }
    // DEQUANTISED_CODES never forms the product.
    const bool product = rules_.mode != Mode::kCodes;
    const bool subnormal =
        product && x != 0 && std::fabs(exact) < kFp32MinNormal;
    // Rounded up into the normal range: before the flush or after it.
    const bool edge = subnormal && std::fabs(x) >= kFp32MinNormal;
    if (subnormal && !edge &&
        denormals_ == ArithmeticRules::Denormals::kFlushed) {
      x = 0;
    }
    if (exact != 0 && denormals_ != ArithmeticRules::Denormals::kKept) {
      // Whether a subnormal operand counts as zero is told apart from results:
      // FlashMLA keeps the scale and flushes the product.
      const bool open =
          subnormal_scale || edge ||
          (subnormal && denormals_ == ArithmeticRules::Denormals::kUnknown);
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
  if (rope_.scaled_by < 0 || rules_.codes) return;
  // Of a wrong kernel: nothing is simulated beyond the product.
  facts->granule = 0;
  for (int i = 0; i < kRope; ++i) {
    rope[i] *= static_cast<double>(scales[rope_.scaled_by].value);
    if (rules_.mode == Mode::kBf16) rope[i] = RoundBf16(rope[i]);
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
    AddScale(rules_, scales[t], &facts);
    slow[t] = IsSlowTile(rules_, scale);
    any_slow |= slow[t];
    if (slow[t]) {
      facts.granule = 0;
      continue;
    }
    FastTile(codes, scale, out);
    std::uint8_t most = 0;
    for (int i = 0; i < n; ++i) {
      most = std::max<std::uint8_t>(most, codes[i] & 0x7f);
    }
    AddTile(rules_, most, scale, &facts);
    if (facts.granule == 0 || !HasGranule(rules_, scale)) {
      facts.granule = 0;
      continue;
    }
    AddGranule(rules_, CommonBits(codes, n), scale, &facts);
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
  std::uint16_t words[kRope];
  std::memcpy(words, bytes, sizeof words);
  for (int i = 0; i < kRope; ++i) values[i] = Bf16FromBits(words[i]);
  RopeFacts facts;
  for (int i = 0; i < kRope; ++i) facts.Add(words[i]);
  return facts.Facts(with_granule);
}

}  // namespace mlafuzz::oracle
