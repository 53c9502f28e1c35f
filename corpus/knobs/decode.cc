#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/knobs/extra.h"
#include "corpus/knobs/parts.h"

namespace mlafuzz::knobs {
namespace {

bool IsNan32(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// A token's bytes in one run.
using TokenBytes = std::array<std::uint8_t, 1024>;

void LoadToken(const PoolImage& pool, std::int64_t slot, TokenBytes& token) {
  ForEachPart(pool, slot, 0, pool.row_bytes,
              [&](std::int64_t at, std::int64_t byte, std::int64_t count) {
                std::memcpy(token.data() + byte, pool.bytes.data() + at,
                            static_cast<std::size_t>(count));
              });
}

// Scale bytes of a token that a key names.
void KeyScaleByteKnobs(const TokenLayout& layout, const std::uint8_t* token,
                       Found& found) {
  const std::uint8_t* const scales = token + layout.scales_at;
  const auto [low, high] = std::minmax_element(scales, scales + layout.tiles());
  if (*low == 0) found.set(kKeyScaleByte0);
  if (*high == 255) found.set(kKeyScaleByte255);
  if (*low != *high) found.set(kKeyScaleBytesDiffer);
  if (*low != 0 && *high != 255 && *high - *low >= 18) {
    found.set(kKeyScaleSpread);
  }
}

// fp32 scales of a row that a key names.
void KeyScaleKnobs(const std::uint8_t* at, Found& found) {
  std::uint32_t scales[kTiles];
  std::memcpy(scales, at, sizeof(scales));
  bool pow2 = true, fractions = false, hostile = false;
  std::uint32_t low = 0xff, high = 0;  // exponents
  for (const std::uint32_t bits : scales) {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    const std::uint32_t fraction = bits & 0x7fffffu;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude == 0) found.set(kKeyScaleZero);
    if (exponent == 0 && fraction != 0) found.set(kKeyScaleSubnormal);
    if (magnitude == 0x00800000u) found.set(kKeyScaleFltMin);
    if (IsNan32(bits)) found.set(kKeyScaleNan);
    if (magnitude == 0x7f800000u) found.set(kKeyScaleInf);
    if (bits >> 31 != 0 && magnitude != 0 && magnitude < 0x7f800000u) {
      found.set(kKeyScaleNegative);
    }
    // Not a positive normal number below 2^119.
    hostile |= bits >> 31 != 0 || exponent == 0 || exponent >= 127 + 119;
    if (fraction == 1 || fraction == 0x7fffffu) found.set(kKeyScaleBeside);
    low = std::min(low, exponent);
    high = std::max(high, exponent);
    pow2 &= fraction == 0;
    fractions |= ((bits ^ scales[0]) & 0x7fffffu) != 0;
  }
  if (hostile) {
    found.set(kDecodeScaleHostile);
    return;
  }
  if (high - low >= 18) found.set(kKeyScaleSpread);
  if (pow2) found.set(kDecodeScalePow2);
  if (fractions) found.set(kDecodeScaleFractions);
}

// Codes of a row that a key names.
void KeyCodeKnobs(const TokenLayout& layout, const std::uint8_t* row,
                  Found& found) {
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    std::int64_t nonzero = 0;
    for (int i = 0; i < layout.tile; ++i) {
      const int code = row[tile * layout.tile + i];
      nonzero += (code & 0x7f) != 0;
      if (code == 0x80) found.set(kKeyCodeNegativeZero);
      if ((code & 0x7f) != 0 && (code & 0x7f) < 8) found.set(kKeyCodeSubnormal);
    }
    if (nonzero == 0) found.set(kKeyTileZero);
    if (nonzero == 1) found.set(kKeyTileOutlier);
  }
}

// Rope of a row that a key names.
void KeyRopeKnobs(const TokenLayout& layout, const std::uint8_t* row,
                  Found& found) {
  for (int i = 0; i < layout.rope; ++i) {
    const int m = Load<std::uint16_t>(row + layout.rope_at, i) & 0x7fff;
    if (m != 0 && m < 0x80) found.set(kKeyRopeSubnormal);
    if (m >= kBf16.infinity) found.set(kKeyRopeNotFinite);
  }
}

bool HasNan(const TokenLayout& layout, const std::uint8_t* row) {
  for (int i = 0; i < layout.codes; ++i) {
    if ((row[i] & 0x7f) == 0x7f) return true;
  }
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    if (layout.ue8m0()
            ? row[layout.scales_at + tile] == 255
            : IsNan32(Load<std::uint32_t>(row + layout.scales_at, tile))) {
      return true;
    }
  }
  return false;
}

void QueryKnobs(const Tensor& q, Found& found) {
  std::int64_t nonzero = 0;
  bool finite = true;
  const std::int64_t count = static_cast<std::int64_t>(q.bytes.size()) / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const int m = Load<std::uint16_t>(q.bytes.data(), i) & 0x7fff;
    nonzero += m != 0;
    finite &= m < kBf16.infinity;
  }
  if (!finite) found.set(kQueryNotFinite);
  found.set(nonzero == 0                             ? kQueryZero
            : nonzero <= q.shape[0] * q.shape[1] * 2 ? kQueryOneHot
                                                     : kQueryDense);
}

void SinkKnobs(const Tensor* sinks, Found& found) {
  if (sinks == nullptr) {
    found.set(kSinkNone);
    return;
  }
  for (std::int64_t i = 0; i < sinks->shape[0]; ++i) {
    const std::uint32_t bits = Load<std::uint32_t>(sinks->bytes.data(), i);
    if (IsNan32(bits)) {
      found.set(kSinkNan);
    } else if ((bits & 0x7fffffffu) == 0x7f800000u) {
      found.set(bits >> 31 != 0 ? kSinkMinusInf : kSinkPlusInf);
    } else {
      found.set(kSinkFinite);
    }
  }
}

// Lanes that share one running maximum and one block of an index row.
constexpr std::int64_t kBlockLanes = 64;

// What the pool holds before the first step.
void DecodeFillKnobs(const Pool& pool, Found& found) {
  const Fill& fill = pool.fill();
  if (fill.kind() == Fill::RANDOM_BYTES) found.set(kDecodePoolRandom);
  if (fill.kind() != Fill::BYTE) return;
  if (fill.byte() == 0) found.set(kDecodePoolZeros);
  if (fill.byte() == 0x7f) found.set(kDecodePool7f);
  if (fill.byte() == 0x80) found.set(kDecodePool80);
}

// `first` is the knob of values[0]; the others follow it in order.
template <std::size_t N>
void OneOf(std::int64_t value, const std::int64_t (&values)[N], int first,
           Found& found) {
  for (std::size_t i = 0; i < N; ++i) {
    if (value == values[i]) found.set(first + i);
  }
}

}  // namespace

void DecodeKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* q = step.Find(TensorId::kQ);
  const Tensor* indices = step.Find(TensorId::kIndices);
  const Tensor* lengths = step.Find(TensorId::kLengths);
  const Tensor* sinks = step.Find(TensorId::kSinks);
  const TokenLayout& layout = TokenLayoutOf(pool.layout);
  if (q == nullptr || indices == nullptr || layout.copied) return;
  const bool row656 = layout.layout == FP8_DS_MLA;
  const Decode& call = step.step->decode();
  const std::int64_t queries = q->shape[0];
  const std::int64_t heads = q->shape[1];
  const std::int64_t pe_dim = q->shape[2] - kLatent;
  const std::int64_t width = indices->shape[1];

  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(pe_dim != 0 && !(row656 && pe_dim == 64), kDecodePeDim);
  refuse(pool.row_bytes != layout.token_bytes, kDecodeRowBytes);
  refuse(indices->shape[0] != queries ||
             (lengths != nullptr && lengths->shape[0] != queries),
         kDecodeBatch);
  refuse(heads < 1 || heads > 128 ||
             (sinks != nullptr && sinks->shape[0] != heads),
         kDecodeHeads);
  refuse(pool.offset % 16 != 0 ||
             (pool.page_size > 1 && pool.row_stride % 16 != 0) ||
             (pool.pages > 1 && pool.page_stride % 16 != 0),
         kDecodeAlignment);
  if (ExtraIsRefused(step, found)) return;
  if (refused) return;

  PageKnobs(pool, kDecodePageSize1, found);
  StrideKnobs(pool, kDecodePagePadded, found);
  DecodeFillKnobs(image.source->pool(), found);
  found.set(image.source->schedule() != 0 ? kDecodeScheduleOther
                                          : kDecodeScheduleInOrder);
  found.set(queries == 0   ? kDecodeQueries0
            : queries == 1 ? kDecodeQueries1
                           : kDecodeQueriesSeveral);
  OneOf(queries, {2, 63, 64, 65, 66, 80}, kDecodeQueries2, found);
  if (queries > 64) found.set(kDecodeQueriesAbove64);
  if (queries == 0) return;
  if (call.query_length() > 1) found.set(kDecodeQueryLength);
  found.set(heads == 1 ? kDecodeHeads1 : kDecodeHeadsSeveral);
  OneOf(heads, {64, 65, 96, 128}, kDecodeHeads64, found);
  if (row656) found.set(pe_dim == 0 ? kDecodePeDim0 : kDecodePeDim64);
  if (width == 1) found.set(kDecodeWidth1);
  OneOf(width, {63, 64, 65, 128, 192, 256, 512, 1024, 2048, 2176},
        kDecodeWidth63, found);
  if (width > 128) found.set(kDecodeWidthAbove128);
  if (indices->strides[0] > width) found.set(kDecodeIndicesStrided);
  // A stride that no step takes is seen by nobody.
  const auto apart = [&](const Tensor& t, int of_heads, int of_queries) {
    if (heads > 1 && t.strides[1] > t.shape[2]) found.set(of_heads);
    if (queries > 1 && t.strides[0] > heads * t.strides[1]) {
      found.set(of_queries);
    }
  };
  apart(*q, kDecodeQueryHeadsApart, kDecodeQueriesApart);
  apart(*step.Find(TensorId::kAttention), kDecodeOutHeadsApart,
        kDecodeOutQueriesApart);
  if (queries > 1 && step.Find(TensorId::kLse)->strides[0] > heads) {
    found.set(kDecodeLseStrided);
  }
  const std::int64_t blocks = CeilDiv(width, kBlockLanes);
  const std::int64_t splits = call.splits();
  found.set(splits == 0   ? kSplitsOwn
            : splits == 1 ? kSplitsOne
                          : kSplitsSeveral);
  OneOf(splits, {8, 16, 32}, kSplits8, found);
  if (splits > blocks) found.set(kSplitsMoreThanBlocks);
  const std::int64_t topk = call.declared_topk();
  // One that is the width is the same as none (Canonicalise).
  if (topk > 0 && topk != width) {
    found.set(topk < width ? kTopkBelow : kTopkAbove);
  }
  found.set(lengths != nullptr ? kLengthsGiven : kLengthsNone);
  QueryKnobs(*q, found);
  SinkKnobs(sinks, found);

  TokenBytes token;
  std::vector<bool> without_first;  // queries
  std::vector<bool> read(static_cast<std::size_t>(pool.slots()));
  std::int64_t seen = 0, with_keys = 0;
  for (std::int64_t n = 0; n < queries; ++n) {
    if (!Holds(*indices, n, width, 4)) {
      without_first.push_back(false);
      continue;
    }
    const std::uint8_t* at =
        indices->bytes.data() + n * indices->strides[0] * 4;
    std::int64_t active = width;
    if (lengths != nullptr) {
      const std::int64_t length = Load<std::int32_t>(lengths->bytes.data(), n);
      OneOf(length, {0, 1}, kLengthZero, found);
      OneOf(length - pool.page_size, {-1, 0, 1}, kLengthPageBelow, found);
      OneOf(length, {63, 64, 65}, kLength63, found);
      if (length < 0) found.set(kLengthNegative);
      if (length == width) found.set(kLengthWidth);
      if (length > width) found.set(kLengthAboveWidth);
      active = std::clamp<std::int64_t>(length, 0, width);
    }
    std::int64_t keys = 0, first_block = 0, last_split = 0, previous = -1;
    bool masked = false, cut = false;
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const std::int64_t slot = Load<std::int32_t>(at, lane);
      if (lane >= active) {
        if (slot >= 0 && slot < pool.slots()) cut = true;
        if (slot >= pool.slots()) found.set(kLengthHidesHuge);
        continue;
      }
      if (slot < 0) {
        masked = true;
        if (slot != -1) found.set(kMaskOtherNegative);
        if (lane == 0) found.set(kMaskFront);
        if (lane + 1 == width) found.set(kMaskBack);
        if (lane > 0 && lane + 1 < width) found.set(kMaskMiddle);
        continue;
      }
      if (slot >= pool.slots()) continue;
      ++keys;
      first_block += lane < kBlockLanes;
      last_split += splits > 1 && splits <= blocks &&
                    lane / kBlockLanes >= (splits - 1) * blocks / splits;
      if (slot == previous) found.set(kKeyRepeated);
      previous = slot;
      if (slot == 0) found.set(kKeySlot0);
      if (slot + 1 == pool.slots()) found.set(kKeyLastSlot);
      if (topk > 0 && lane >= topk) found.set(kTopkHidesKeys);
      read[static_cast<std::size_t>(slot)] = true;
      if (seen++ >= kRowsSeen) continue;
      LoadToken(pool, slot, token);
      const std::uint8_t* const row = token.data();
      if (layout.ue8m0()) {
        KeyScaleByteKnobs(layout, row, found);
      } else {
        KeyScaleKnobs(row + layout.scales_at, found);
      }
      KeyCodeKnobs(layout, row, found);
      if (!row656 || pe_dim != 0) KeyRopeKnobs(layout, row, found);
      if (HasNan(layout, row)) found.set(kDecodeCodeNan);
      if (row656 && pe_dim == 0 &&
          std::any_of(row + kTailAt, row + kRowBytes,
                      [](std::uint8_t b) { return b != 0; })) {
        found.set(kDecodeTailStale);
      }
    }
    with_keys += keys > 0;
    without_first.push_back(keys == 0);
    if (cut) found.set(kLengthCuts);
    if (cut && masked) found.set(kLengthCutsPadded);
    if (keys == 0) found.set(kMaskAll);
    if (keys == 1) found.set(kKeySingle);
    if (keys > 0 && keys + 1 == width) found.set(kKeyAllButOne);
    if (keys > 1 && (keys & (keys - 1)) == 0) found.set(kKeyPowerOfTwo);
    if (!masked && keys == width) found.set(kMaskNone);
    if (width > kBlockLanes && keys > 0) {
      if (first_block == 0) found.set(kMaskLeadingBlock);
      if (first_block > 0 && first_block <= 4) found.set(kMaskFewInFirstBlock);
      if (splits > 1 && splits <= blocks && last_split == 0) {
        found.set(kSplitWithoutKeys);
      }
    }
  }
  if (queries > 1 && with_keys == 1) found.set(kDecodeQueriesPadded);
  const std::int64_t looked_at =
      std::min<std::int64_t>(pool.slots(), kRowsSeen);
  for (std::int64_t slot = 0; slot < looked_at; ++slot) {
    if (read[static_cast<std::size_t>(slot)]) continue;
    LoadToken(pool, slot, token);
    if (HasNan(layout, token.data())) {
      found.set(slot == 0 ? kDecodePoisonSlot0 : kDecodePoisonOther);
    }
  }
  if (layout.layout == DSV4_FOOTER_584)
    ExtraKnobs(image, step, without_first, found);
}

bool DecodeKnobApplies(KnobId knob, const TokenLayout& layout) {
  const bool row656 = layout.layout == FP8_DS_MLA;
  switch (knob) {
    case kDecodePeDim0:
    case kDecodePeDim64:
    case kDecodeTailStale:
      return row656;
    case kDecodeRowPadded:
      return !layout.split();
    case kKeyRopeSubnormal:
    case kKeyRopeNotFinite:
      return layout.rope != 0;
    case kDecodeScaleFractions:
    case kDecodeScalePow2:
    case kDecodeScaleHostile:
    case kKeyScaleZero:
    case kKeyScaleSubnormal:
    case kKeyScaleFltMin:
    case kKeyScaleNan:
    case kKeyScaleInf:
    case kKeyScaleNegative:
    case kKeyScaleBeside:
      return !layout.ue8m0();
    case kKeyScaleByte0:
    case kKeyScaleByte255:
    case kKeyScaleBytesDiffer:
      return layout.ue8m0();
    default:
      break;
  }
  if (knob >= kExtraNone && knob <= kExtraAboveBlock) {
    return layout.layout == DSV4_FOOTER_584;
  }
  return true;
}

}  // namespace mlafuzz::knobs
