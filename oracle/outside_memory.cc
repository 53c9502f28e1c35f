#include "oracle/outside_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "oracle/convert_index.h"
#include "oracle/expect_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

constexpr std::size_t kMostReads = 4096;

int IndexOf(const StepImage& step, TensorId id) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

// Where a negative slot's token lies if its page is rounded down.
TokenPlace PlaceRoundedDown(const PoolImage& pool, std::int64_t slot) {
  std::int64_t page = slot / pool.page_size;
  std::int64_t row = slot % pool.page_size;
  if (row < 0) {
    --page;
    row += pool.page_size;
  }
  return PlaceOf(pool, page, row);
}

std::vector<ByteRange> RowsOfWriter(const WriterContract& contract,
                                    const PoolImage& pool,
                                    const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const int rest = layout.row_bytes - layout.row_part;
  std::vector<ByteRange> ranges;
  const auto add_bytes = [&](std::int64_t at, int count) {
    // Wrapped around: no address at all.
    if (count == 0 || at > INT64_MAX - count) return;
    ranges.push_back({.tensor = -1, .begin = at, .end = at + count});
  };
  const auto add = [&](const TokenPlace& place) {
    add_bytes(place.row, layout.row_part);
    add_bytes(place.behind, rest);
  };
  const WritePlan plan = PlanWrites(contract, pool, step);
  for (const TokenPlace& place : plan.outside_at) add(place);
  for (const RowWrite& row : plan.rows) {
    if (row.slot < 0) add(row.place());
  }
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  const Storage<std::int64_t> slot_of(slots);
  for (std::int64_t i = 0; i < std::min(Length(slots), slot_of.size()); ++i) {
    if (slot_of[i] >= 0 || SkipsSlot(contract, pool.slots(), slot_of[i])) {
      continue;
    }
    add(PlaceRoundedDown(pool, slot_of[i]));
  }
  return ranges;
}

// Scales that a gather which copies them stores past their tensor.
void AddScaleRows(const GatherContract& contract, const PoolImage& pool,
                  const StepImage& step, const Tensor& dst,
                  std::vector<ByteRange>* ranges) {
  const int index = IndexOf(step, TensorId::kDstScales);
  if (index < 0) return;
  const RowLayout& layout = LayoutOf(pool.layout);
  const std::int64_t row_bytes = layout.tiles() * layout.scale_bytes;
  const std::int64_t size = static_cast<std::int64_t>(
      step.tensors[static_cast<std::size_t>(index)].bytes.size());
  ForEachGatherRow(contract, pool, step, [&](const GatherRow& row) {
    const std::int64_t at = ScaleRowAt(contract, layout, dst, row.row);
    if (at + row_bytes <= size || ranges->size() >= kMostReads) return;
    ranges->push_back({.tensor = index, .begin = at, .end = at + row_bytes});
  });
}

std::vector<ByteRange> RowsOfGather(const GatherContract& contract,
                                    const PoolImage& pool,
                                    const StepImage& step) {
  std::vector<ByteRange> ranges;
  const int index = IndexOf(step, TensorId::kDst);
  if (index < 0) return ranges;
  const Tensor& dst = step.tensors[static_cast<std::size_t>(index)];
  const std::int64_t stride = dst.strides[0] * DTypeSize(dst.dtype);
  const std::int64_t row_bytes = dst.shape[1] * DTypeSize(dst.dtype);
  const auto add = [&](std::int64_t first, std::int64_t end) {
    if (first >= end) return;
    ranges.push_back({.tensor = index,
                      .begin = first * stride,
                      .end = (end - 1) * stride + row_bytes});
  };
  for (const GatherRequest& r : SplitRequests(contract, pool, step)) {
    const std::int64_t end = r.first_row + r.done_rows;
    add(r.first_row, std::min<std::int64_t>(end, 0));
    add(std::max(r.first_row, dst.shape[0]), end);
  }
  AddScaleRows(contract, pool, step, dst, &ranges);
  return ranges;
}

}  // namespace

std::vector<ByteRange> OutsideWrites(const Contract& contract,
                                     const PoolImage& pool,
                                     const StepImage& step) {
  if (pool.page_size <= 0) return {};
  switch (step.kernel) {
    case Kernel::kWriter:
      return RowsOfWriter(contract.writer(), pool, step);
    case Kernel::kGather:
      return RowsOfGather(contract.gather(), pool, step);
    default:
      return {};
  }
}

std::vector<ByteRange> OutsideReads(const Contract& contract,
                                    const PoolImage& pool,
                                    const StepImage& step) {
  std::vector<ByteRange> ranges;
  const int table = IndexOf(step, TensorId::kBlockTable);
  if (table < 0 || pool.page_size <= 0) return ranges;
  const int starts = IndexOf(step, TensorId::kPrefillStarts);
  const auto add_entry = [&](int tensor, std::int64_t entry) {
    if (ranges.size() >= kMostReads) return;
    ranges.push_back(
        {.tensor = tensor, .begin = 4 * entry, .end = 4 * entry + 4});
  };
  if (step.kernel == Kernel::kGather) {
    ForEachGatherRow(contract.gather(), pool, step, [&](const GatherRow& row) {
      if (row.source == GatherRow::Source::kOutsideTable) {
        add_entry(table, row.entry);
      } else if (row.source == GatherRow::Source::kOutsidePool &&
                 ranges.size() < kMostReads) {
        // Of int32 pages: no overflow.
        const std::int64_t in_page = row.token - row.column * pool.page_size;
        const RowLayout& layout = LayoutOf(pool.layout);
        const TokenPlace place = PlaceOf(pool, row.page, in_page);
        ranges.push_back({.tensor = -1,
                          .begin = place.row,
                          .end = place.row + layout.row_part});
        if (layout.row_part == layout.row_bytes) return;
        ranges.push_back(
            {.tensor = -1,
             .begin = place.behind,
             .end = place.behind + layout.row_bytes - layout.row_part});
      }
    });
  } else if (step.kernel == Kernel::kConvert) {
    const Tensor* tokens = step.Find(TensorId::kTokenIndices);
    const Tensor* requests = step.Find(TensorId::kRequestIds);
    if (tokens == nullptr || requests == nullptr) return ranges;
    const Storage<std::int32_t> token_of(tokens);
    const Storage<std::int32_t> request_of(requests);
    const IndexConverter converter(contract.convert(), pool, step);
    const std::int64_t rows = std::min(tokens->shape[0], requests->shape[0]);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < tokens->shape[1]; ++i) {
        const ConvertedIndex index =
            converter.Convert(row, request_of[row * requests->strides[0]],
                              token_of[row * tokens->strides[0] + i]);
        if (index.kind != ConvertedIndex::Kind::kOutsideTable) continue;
        add_entry(index.in_workspace ? starts : table, index.entry);
      }
    }
  }
  return ranges;
}

bool Contains(const std::vector<ByteRange>& ranges, const MemoryFault& fault) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const ByteRange& r) {
    if (r.tensor >= static_cast<int>(fault.from_tensors.size())) return false;
    const std::int64_t at =
        r.tensor < 0 ? fault.from_pool
                     : fault.from_tensors[static_cast<std::size_t>(r.tensor)];
    return at >= r.begin && at < r.end;
  });
}

bool LeftByRows(const std::vector<ByteRange>& ranges, const StepImage& step,
                absl::Span<const Stray> strays, const Stray& before_page_0) {
  if (ranges.empty()) return false;
  const bool gather = step.kernel == Kernel::kGather;
  const std::optional<TensorId> hit =
      gather ? std::optional<TensorId>(
                   step.tensors[static_cast<std::size_t>(ranges[0].tensor)].id)
             : std::nullopt;
  const auto inside = [&](std::int64_t at) {
    return std::any_of(ranges.begin(), ranges.end(), [at](const ByteRange& r) {
      return at >= r.begin && at < r.end;
    });
  };
  std::int64_t changed = 0;
  const auto take = [&](const Stray& stray) {
    changed += stray.count;
    return inside(stray.first) && inside(stray.last);
  };
  for (const Stray& stray : strays) {
    if (stray.tensor == hit && !take(stray)) return false;
  }
  if (before_page_0.count > 0 && !take(before_page_0)) return false;
  std::int64_t row = ranges[0].end - ranges[0].begin;
  if (gather) {
    const Tensor& dst = *step.Find(*hit);
    row = dst.shape[1] * DTypeSize(dst.dtype);
  }
  return 2 * changed >= row;
}

}  // namespace mlafuzz::oracle
