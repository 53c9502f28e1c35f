#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "corpus/case.pb.h"
#include "corpus/knobs/parts.h"
#include "corpus/values.h"

namespace mlafuzz::knobs {
namespace {

// Patterns in bf16 (exponent bias 127).
constexpr int kFloorEdge = 0x04e0;   // 448 * FLT_MIN = 1.75 * 2^-118
constexpr int kTenthMilli = 0x3d37;  // 448 * 1e-4, to the nearest

void TileKnobs(const std::uint8_t* at, const Format& format, bool bf16,
               Found& found) {
  // One pass that the compiler can keep in vector registers.
  std::uint16_t v[kTileValues];
  std::memcpy(v, at, sizeof(v));
  int largest = 0;        // of finite values
  int smallest = 0x7fff;  // of nonzero values
  int nans = 0, infs = 0, negative_zeros = 0, subnormals = 0;
  const int one = 1 << format.mantissa_bits;
  for (int i = 0; i < kTileValues; ++i) {
    const int m = v[i] & 0x7fff;
    nans += m > format.infinity;
    infs += m == format.infinity;
    negative_zeros += v[i] == 0x8000;
    subnormals += (m != 0) & (m < one);
    largest = std::max(largest, m < format.infinity ? m : 0);
    smallest = std::min(smallest, m != 0 ? m : 0x7fff);
  }
  if (negative_zeros != 0) found.set(kTileNegativeZero);
  if (subnormals != 0) found.set(kTileSubnormal);
  if (nans != 0) found.set(kTileNan);
  if (nans == kTileValues) found.set(kTileAllNan);
  if (infs != 0) found.set(kTileInf);
  if (largest == 0) {
    if (nans + infs == 0) found.set(kTileZero);
    return;
  }
  if (largest == format.infinity - 1) found.set(kTileLargestFinite);
  const int exponent = largest >> format.mantissa_bits;
  if (exponent - (smallest >> format.mantissa_bits) >= 18) {
    found.set(kTileWide);
  }
  const int mantissa = largest & (one - 1);
  if (mantissa == format.seven_quarters) found.set(kTilePow2);
  if (mantissa == format.seven_quarters + 1) found.set(kTilePow2Above);
  if (mantissa == format.seven_quarters - 1) found.set(kTilePow2Below);
  if (bf16) {
    if (largest >= kFloorEdge - 1 && largest <= kFloorEdge + 1) {
      found.set(kTileFloorEdge);
    }
    if (largest < kFloorEdge) found.set(kTileBelowFloor);
    if (largest >= kTenthMilli - 0x80 && largest <= kTenthMilli + 0x80) {
      found.set(kTileNearTenthMilli);
    }
  }

  // What needs the largest value first. An outlier stands 8 octaves above all
  // others; a negative value 20 octaves below the largest is under half of the
  // smallest code for any scale.
  const bool pow2 = mantissa == format.seven_quarters && exponent > 0;
  const int tiny = std::max(0, exponent - 20) << format.mantissa_bits;
  int near_largest = 0, tiny_negatives = 0;
  int midpoints = 0, above = 0, below = 0;
  const int eight_below = std::max(0, exponent - 7) << format.mantissa_bits;
  // A code keeps three bits of the mantissa: a midpoint has the next one set
  // and zeros below it. With a power-of-two scale the quotient has the value's
  // own mantissa; codes are normal for at least 2^-6, that is down to 14
  // octaves below 448's.
  const int half = 1 << (format.mantissa_bits - 4);
  const int low_bits = 2 * half - 1;
  const int normal = std::max(1, exponent - 14) << format.mantissa_bits;
  for (int i = 0; i < kTileValues; ++i) {
    const int m = v[i] & 0x7fff;
    near_largest += (m >= eight_below) & (m <= largest);
    tiny_negatives += (v[i] > 0x8000) & (m < tiny + one) & (tiny != 0);
    const int low = m & low_bits;
    const int in_range = (m >= normal) & (m < largest);
    midpoints += in_range & (low == half);
    above += in_range & (low == half + 1);
    below += in_range & (low == half - 1);
  }
  if (near_largest == 1 && smallest < largest) found.set(kTileOutlier);
  if (tiny_negatives != 0) found.set(kTileTinyNegative);
  if (pow2) {
    if (midpoints != 0) found.set(kTileMidpoint);
    if (above != 0) found.set(kTileMidpointAbove);
    if (below != 0) found.set(kTileMidpointBelow);
  }
}

void RowKnobs(const Tensor& kv, std::int64_t row, Found& found) {
  if (!Holds(kv, row, kLatent, 2)) return;
  const std::uint8_t* at = kv.bytes.data() + row * kv.strides[0] * 2;
  const bool bf16 = kv.dtype == BF16;
  for (int tile = 0; tile < kTiles; ++tile) {
    TileKnobs(at + tile * kTileValues * 2, bf16 ? kBf16 : kF16, bf16, found);
  }
  if (std::memcmp(at, at + kTileValues * 2, kTileValues * 2) != 0) {
    found.set(kTilesDiffer);
  }
  if (!bf16) {
    for (std::int64_t i = 0; i < kLatent; ++i) {
      if (at[2 * i + 1] & 0x80) {
        found.set(kInputF16Negative);
        break;
      }
    }
  }
}

void RopeKnobs(const Tensor& pe, std::int64_t row, Found& found) {
  const std::int64_t columns = pe.shape[1];
  if (!Holds(pe, row, columns, 2)) return;
  const std::uint8_t* at = pe.bytes.data() + row * pe.strides[0] * 2;
  const int infinity = pe.dtype == BF16 ? kBf16.infinity : kF16.infinity;
  int nonzero = 0, nan = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    const int m = Load<std::uint16_t>(at, i) & 0x7fff;
    nonzero += m != 0;
    nan += m > infinity;
  }
  found.set(nonzero != 0 ? kRopeNonzero : kRopeZero);
  if (nan != 0) found.set(kRopeNan);
}

}  // namespace

void WriteKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  if (pool.layout != FP8_DS_MLA) return;
  const Tensor* kv = step.Find(TensorId::kKvC);
  const Tensor* pe = step.Find(TensorId::kKPe);
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  if (kv == nullptr || slots == nullptr) return;
  const std::int64_t tokens = slots->shape[0];
  const std::int64_t pe_dim = pe == nullptr ? 0 : pe->shape[1];

  // Refused classes.
  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(kv->shape[1] != kLatent, kWriterLatentDim);
  refuse(pe_dim != 0 && pe_dim != 64, kWriterPeDim);
  refuse(pool.row_bytes != kRowBytes, kWriterRowBytes);
  refuse((kv->dtype != BF16 && kv->dtype != F16) ||
             (pe != nullptr && pe->dtype != kv->dtype),
         kWriterInputDType);
  const auto misaligned = [](const Tensor& t, std::int64_t alignment) {
    return t.shape[0] > 0 &&
           (t.misalignment % alignment != 0 ||
            (t.shape[0] > 1 &&
             t.strides[0] * DTypeSize(t.dtype) % alignment != 0));
  };
  refuse(misaligned(*kv, 16) || (pe != nullptr && misaligned(*pe, 4)) ||
             PoolMisaligned(pool),
         kWriterAlignment);
  refuse(kv->shape[0] < tokens || (pe != nullptr && pe->shape[0] < tokens),
         kWriterSourceRows);
  refuse((pool.page_size > 1 && pool.row_stride < pool.row_bytes) ||
             (pool.pages > 1 &&
              pool.page_stride <
                  (pool.page_size - 1) * pool.row_stride + pool.row_bytes),
         kWriterOverlap);
  if (refused) return;

  PageKnobs(pool, kWriterPageSize1, found);
  StrideKnobs(pool, kWriterPagePadded, found);
  found.set(image.source->schedule() != 0 ? kWriterScheduleOther
                                          : kWriterScheduleInOrder);
  switch (tokens) {
    case 0:
      found.set(kTokens0);
      break;
    case 1:
      found.set(kTokens1);
      break;
    case 2:
      found.set(kTokens2);
      break;
    case 63:
      found.set(kTokens63);
      break;
    case 64:
      found.set(kTokens64);
      break;
    case 65:
      found.set(kTokens65);
      break;
    default:
      break;
  }
  if (kv->shape[0] > tokens) found.set(kSourceSurplus);
  if (kv->strides[0] > kLatent) found.set(kSourceKvStrided);
  if (kv->misalignment != 0) found.set(kSourceKvOffset);
  if (kv->dtype == F16) found.set(kInputF16);
  found.set(pe_dim == 0 ? kPeDim0 : kPeDim64);
  if (pe != nullptr) {
    if (pe->strides[0] > pe_dim) found.set(kSourcePeStrided);
    if (pe->misalignment != 0) found.set(kSourcePeOffset);
  }

  std::int64_t skipped = 0, previous = -1, seen = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t slot = Load<std::int64_t>(slots->bytes.data(), t);
    if (slot < 0) {
      ++skipped;
      if (slot == -1) {
        found.set(kSlotMinusOne);
      } else if (slot >= std::numeric_limits<std::int32_t>::min()) {
        found.set(kSlotOtherNegative);
      } else {
        found.set(kSlotBelowInt32);
        if (slot == std::numeric_limits<std::int64_t>::min()) {
          found.set(kSlotInt64Min);
        }
      }
      continue;
    }
    if (slot >= pool.slots()) continue;
    if (skipped > 0 && previous >= 0) found.set(kSlotsSkippedBetween);
    if (slot < previous) found.set(kSlotsDescending);
    previous = slot;
    if (slot == 0) found.set(kSlotZero);
    if (slot + 1 == pool.slots()) found.set(kSlotLast);
    if (slot != 0 && slot % pool.page_size == 0) found.set(kSlotPageFirst);
    if ((slot + 1) % pool.page_size == 0) found.set(kSlotPageLast);
    if (seen++ >= kRowsSeen) continue;
    RowKnobs(*kv, t, found);
    if (pe != nullptr && pe_dim != 0) {
      RopeKnobs(*pe, t, found);
    } else if (!found[kWriterTailStale]) {
      const std::uint8_t* tail = pool.bytes.data() + pool.RowAt(slot) + kTailAt;
      if (std::any_of(tail, tail + (kRowBytes - kTailAt),
                      [](std::uint8_t b) { return b != 0; })) {
        found.set(kWriterTailStale);
      }
    }
  }
  if (tokens > 0 && skipped == tokens) found.set(kSlotsAllSkipped);
}

}  // namespace mlafuzz::knobs
