#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/knobs/parts.h"
#include "corpus/values.h"

namespace mlafuzz::knobs {
namespace {

void CacheRowKnobs(const std::uint8_t* row, Found& found) {
  std::uint32_t scales[kTiles];
  std::memcpy(scales, row + kScalesAt, sizeof(scales));
  for (const std::uint32_t bits : scales) {
    const std::uint32_t m = bits & 0x7fffffffu;
    const std::uint32_t exponent = m >> 23;
    if (m == 0) {
      found.set(bits == 0 ? kRowScaleZero : kRowScaleNegativeZero);
    } else if (m > 0x7f800000u) {
      found.set(kRowScaleNan);
    } else if (m == 0x7f800000u) {
      found.set(kRowScaleInf);
    } else if (exponent == 0) {
      found.set(kRowScaleSubnormal);
    } else {
      if (m == 0x00800000u) found.set(kRowScaleFltMin);
      // 448 times 2^119 leaves fp32's range.
      if (exponent >= 127 + 119) found.set(kRowScaleHuge);
      found.set((m & 0x7fffffu) == 0 ? kRowScalePow2 : kRowScaleArbitrary);
    }
    if (m != 0 && (bits >> 31) != 0) found.set(kRowScaleNegative);
  }
  if (scales[0] != scales[1]) found.set(kRowScalesDiffer);

  int nan = 0, negative_zero = 0, subnormal = 0, same = 0;
  for (std::int64_t i = 0; i < kLatent; ++i) {
    const int m = row[i] & 0x7f;
    nan += m == 0x7f;
    negative_zero += row[i] == 0x80;
    subnormal += (m != 0) & (m < 8);
    same += row[i] == row[0];
  }
  if (nan != 0) found.set(kRowCodeNan);
  if (negative_zero != 0) found.set(kRowCodeNegativeZero);
  if (subnormal != 0) found.set(kRowCodeSubnormal);
  if (same != kLatent) {
    found.set(kRowFillMixed);
  } else if (row[0] == 0) {
    found.set(kRowFillZero);
  } else if (row[0] == 0x7f) {
    found.set(kRowFill7f);
  } else if (row[0] == 0x80) {
    found.set(kRowFill80);
  }
}

}  // namespace

void GatherKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  if (pool.layout != FP8_DS_MLA) return;
  const Tensor* dst = step.Find(TensorId::kDst);
  const Tensor* table = step.Find(TensorId::kBlockTable);
  const Tensor* starts = step.Find(TensorId::kWorkspaceStarts);
  const Tensor* lens = step.Find(TensorId::kSeqLens);
  const Tensor* firsts = step.Find(TensorId::kSeqStarts);
  if (dst == nullptr || table == nullptr || starts == nullptr) return;
  const std::int64_t requests = starts->shape[0];
  const std::int64_t rows = dst->shape[0];

  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(dst->shape[1] != 576, kGatherDstColumns);
  refuse(dst->dtype != BF16, kGatherDstDType);
  refuse(pool.row_bytes != kRowBytes, kGatherRowBytes);
  refuse(table->shape[0] != requests ||
             (lens != nullptr && lens->shape[0] != requests) ||
             (firsts != nullptr && firsts->shape[0] != requests),
         kGatherBatch);
  refuse(PoolMisaligned(pool) || (rows > 0 && dst->misalignment % 16 != 0) ||
             (rows > 1 && dst->strides[0] * DTypeSize(dst->dtype) % 16 != 0),
         kGatherAlignment);
  refuse(dst->strides[0] < dst->shape[1] && rows > 1, kGatherOverlap);
  if (refused) return;

  PageKnobs(pool, kGatherPageSize1, found);
  StrideKnobs(pool, kGatherPagePadded, found);
  found.set(image.source->schedule() != 0 ? kGatherScheduleOther
                                          : kGatherScheduleInOrder);
  const bool nope = step.step->gather().nope();
  found.set(nope ? kGatherNope : kGatherRope);
  found.set(lens != nullptr ? kGatherLengthsGiven : kGatherLengthsFromStarts);
  if (firsts != nullptr) found.set(kGatherSeqStarts);
  if (dst->strides[0] > dst->shape[1]) found.set(kGatherDstStrided);
  if (rows == 0) found.set(kGatherNoRows);
  if (requests > 1) found.set(kGatherManyRequests);
  if (requests > rows) found.set(kGatherMoreRequestsThanRows);
  if (table->shape[0] > 1 && table->strides[0] == 0) {
    found.set(kGatherTableExpanded);
  }
  if (table->strides[0] > table->shape[1]) found.set(kGatherTableNarrowed);

  std::int64_t covered = 0, tasks = 0, seen = 0, previous_start = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> filled;  // rows of dst
  const std::int64_t columns = table->shape[1];
  for (std::int64_t r = 0; r < requests; ++r) {
    std::int64_t start = Load<std::int32_t>(starts->bytes.data(), r);
    if (r == 0 && start > 0) found.set(kGatherRowsBefore);
    if (start > rows) {
      found.set(lens != nullptr ? kGatherStartPastEndLens
                                : kGatherStartPastEnd);
    }
    if (start < 0) found.set(kGatherStartNegative);
    if (r > 0 && start < previous_start) found.set(kGatherStartsDescend);
    if (r > 0 && start == previous_start) found.set(kGatherStartsEqual);
    previous_start = start;
    std::int64_t length;
    if (lens != nullptr) {
      length = Load<std::int32_t>(lens->bytes.data(), r);
      if (length < 0) found.set(kGatherLengthNegative);
    } else {
      start = std::min(start, rows);
      length = (r + 1 < requests
                    ? std::min<std::int64_t>(
                          Load<std::int32_t>(starts->bytes.data(), r + 1), rows)
                    : rows) -
               start;
    }
    length = std::max<std::int64_t>(length, 0);
    if (length == 0 && requests > 1) {
      found.set(r == 0              ? kGatherEmptyFirst
                : r + 1 == requests ? kGatherEmptyLast
                                    : kGatherEmptyBetween);
    }
    if (length > 0) filled.push_back({start, start + length});
    covered += length;
    if (length == 0) found.set(kGatherLength0);
    if (length == 1) found.set(kGatherLength1);
    if (length > 0 && length == pool.page_size - 1) {
      found.set(kGatherLengthPageMinus1);
    }
    if (length == pool.page_size) found.set(kGatherLengthPage);
    if (length == pool.page_size + 1) found.set(kGatherLengthPagePlus1);
    const std::int64_t first =
        firsts == nullptr
            ? 0
            : std::max(Load<std::int32_t>(firsts->bytes.data(), r), 0);
    if (length > 0) {
      if (first % pool.page_size != 0) found.set(kGatherSeqStartInside);
      if (first > 0 && first % pool.page_size == pool.page_size - 1) {
        found.set(kGatherSeqStartLastRow);
      }
      if (first >= pool.page_size) found.set(kGatherSeqStartSkipsPages);
    }
    const std::int64_t from = length > 0 ? first / pool.page_size : 0;
    const std::int64_t to =
        length > 0 ? CeilDiv(first + length, pool.page_size) : 0;
    tasks += to - from;
    if (!Holds(*table, r, columns, 4)) continue;
    const std::uint8_t* entries =
        table->bytes.data() + r * table->strides[0] * 4;
    std::int64_t previous = -1;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t page = Load<std::int32_t>(entries, c);
      if (c < from || c >= to) {
        if (page == -1) {
          found.set(kGatherTableMinusOne);
        } else if (page < 0) {
          found.set(kGatherTableNegative);
        } else if (page >= pool.pages) {
          found.set(kGatherTableHuge);
        }
        continue;
      }
      if (page < 0 || page >= pool.pages) continue;
      if (page < previous) found.set(kGatherTablePermuted);
      if (page == previous) found.set(kGatherTableShared);
      previous = page;
      const std::int64_t row = c == from ? first % pool.page_size : 0;
      if (seen++ >= kRowsSeen) continue;
      const std::uint8_t* bytes =
          pool.bytes.data() + pool.RowAt(page * pool.page_size + row);
      CacheRowKnobs(bytes, found);
      if (nope && !found[kGatherTailStale] &&
          std::any_of(bytes + kTailAt, bytes + kRowBytes,
                      [](std::uint8_t b) { return b != 0; })) {
        found.set(kGatherTailStale);
      }
    }
  }
  std::sort(filled.begin(), filled.end());
  for (std::size_t i = 1; i < filled.size(); ++i) {
    if (filled[i].first < filled[i - 1].second) {
      found.set(lens != nullptr ? kGatherRowsShared : kGatherRowsSharedStarts);
    }
  }
  if (lens != nullptr && covered < rows) found.set(kGatherRowsBetween);
  if (tasks > CeilDiv(rows, pool.page_size)) found.set(kGatherMoreTasks);
}

}  // namespace mlafuzz::knobs
