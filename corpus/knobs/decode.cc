#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/knobs/parts.h"

namespace mlafuzz::knobs {
namespace {

bool IsNan32(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// A row that a key names.
void KeyRowKnobs(const std::uint8_t* row, Found& found) {
  std::uint32_t scales[kTiles];
  std::memcpy(scales, row + kScalesAt, sizeof(scales));
  bool pow2 = true, fractions = false;
  for (const std::uint32_t bits : scales) {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    // Not a positive normal number below 2^119.
    if (bits >> 31 != 0 || exponent == 0 || exponent >= 127 + 119) {
      found.set(kDecodeScaleHostile);
      return;
    }
    pow2 &= (bits & 0x7fffffu) == 0;
    fractions |= ((bits ^ scales[0]) & 0x7fffffu) != 0;
  }
  if (pow2) found.set(kDecodeScalePow2);
  if (fractions) found.set(kDecodeScaleFractions);
}

bool HasNan(const std::uint8_t* row) {
  for (std::int64_t i = 0; i < kLatent; ++i) {
    if ((row[i] & 0x7f) == 0x7f) return true;
  }
  for (int tile = 0; tile < kTiles; ++tile) {
    if (IsNan32(Load<std::uint32_t>(row + kScalesAt, tile))) return true;
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

}  // namespace

void DecodeKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* q = step.Find(TensorId::kQ);
  const Tensor* indices = step.Find(TensorId::kIndices);
  const Tensor* lengths = step.Find(TensorId::kLengths);
  const Tensor* sinks = step.Find(TensorId::kSinks);
  if (q == nullptr || indices == nullptr) return;
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
  refuse(pe_dim != 0 && pe_dim != 64, kDecodePeDim);
  refuse(pool.row_bytes != kRowBytes, kDecodeRowBytes);
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
  if (refused) return;

  constexpr std::int64_t kSizes[] = {1, 2, 3, 16, 64};
  for (int i = 0; i < 5; ++i) {
    if (pool.page_size == kSizes[i]) found.set(kDecodePageSize1 + i);
  }
  StrideKnobs(pool, kDecodePagePadded, found);
  found.set(image.source->schedule() != 0 ? kDecodeScheduleOther
                                          : kDecodeScheduleInOrder);
  found.set(queries == 0   ? kDecodeQueries0
            : queries == 1 ? kDecodeQueries1
                           : kDecodeQueriesSeveral);
  if (queries > 64) found.set(kDecodeQueriesAbove64);
  if (queries == 0) return;
  if (call.query_length() > 1) found.set(kDecodeQueryLength);
  found.set(heads == 1 ? kDecodeHeads1 : kDecodeHeadsSeveral);
  if (heads == 128) found.set(kDecodeHeads128);
  found.set(pe_dim == 0 ? kDecodePeDim0 : kDecodePeDim64);
  if (width == 1) found.set(kDecodeWidth1);
  if (width >= 63 && width <= 65) {
    found.set(kDecodeWidth63 + static_cast<int>(width - 63));
  }
  if (width > 128) found.set(kDecodeWidthAbove128);
  if (indices->strides[0] > width) found.set(kDecodeIndicesStrided);
  const std::int64_t blocks = CeilDiv(width, kBlockLanes);
  const std::int64_t splits = call.splits();
  found.set(splits == 0   ? kSplitsOwn
            : splits == 1 ? kSplitsOne
                          : kSplitsSeveral);
  if (splits > blocks) found.set(kSplitsMoreThanBlocks);
  const std::int64_t topk = call.declared_topk();
  if (topk > 0) {
    found.set(topk < width    ? kTopkBelow
              : topk == width ? kTopkEqual
                              : kTopkAbove);
  }
  found.set(lengths != nullptr ? kLengthsGiven : kLengthsNone);
  QueryKnobs(*q, found);
  SinkKnobs(sinks, found);

  std::vector<bool> read(static_cast<std::size_t>(pool.slots()));
  std::int64_t seen = 0;
  for (std::int64_t n = 0; n < queries; ++n) {
    if (!Holds(*indices, n, width, 4)) continue;
    const std::uint8_t* at =
        indices->bytes.data() + n * indices->strides[0] * 4;
    std::int64_t active = width;
    if (lengths != nullptr) {
      const std::int64_t length = Load<std::int32_t>(lengths->bytes.data(), n);
      if (length == 0) found.set(kLengthZero);
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
      const std::uint8_t* row = pool.bytes.data() + pool.RowAt(slot);
      KeyRowKnobs(row, found);
      if (HasNan(row)) found.set(kDecodeCodeNan);
      if (pe_dim == 0 && std::any_of(row + kTailAt, row + kRowBytes,
                                     [](std::uint8_t b) { return b != 0; })) {
        found.set(kDecodeTailStale);
      }
    }
    if (cut) found.set(kLengthCuts);
    if (keys == 0) found.set(kMaskAll);
    if (keys == 1) found.set(kKeySingle);
    if (!masked && keys == width) found.set(kMaskNone);
    if (width > kBlockLanes && keys > 0) {
      if (first_block == 0) found.set(kMaskLeadingBlock);
      if (first_block > 0 && first_block <= 4) found.set(kMaskFewInFirstBlock);
      if (splits > 1 && splits <= blocks && last_split == 0) {
        found.set(kSplitWithoutKeys);
      }
    }
  }
  const std::int64_t looked_at =
      std::min<std::int64_t>(pool.slots(), kRowsSeen);
  for (std::int64_t slot = 0; slot < looked_at; ++slot) {
    if (read[static_cast<std::size_t>(slot)]) continue;
    if (HasNan(pool.bytes.data() + pool.RowAt(slot))) {
      found.set(slot == 0 ? kDecodePoisonSlot0 : kDecodePoisonOther);
    }
  }
}

}  // namespace mlafuzz::knobs
