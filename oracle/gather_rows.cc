#include "oracle/gather_rows.h"

#include <algorithm>
#include <limits>

#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// Remainder and quotient of positions, which a misuse may make negative.
std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
std::int64_t FloorMod(std::int64_t a, std::int64_t b) {
  return a - FloorDiv(a, b) * b;
}

}  // namespace

DstShape DstShapeOf(const GatherContract& contract, const RowLayout& layout) {
  if (layout.copied) return {layout.codes, 1, layout.codes, U8};
  switch (contract.rows()) {
    case GatherContract::ROWS_BYTES:
      return {layout.row_bytes, 1, layout.row_bytes, U8};
    case GatherContract::ROWS_ONE_SCALE:
      return {kOneScaleCodes, 2, kOneScaleCodes, BF16};
    default:
      return {layout.columns(), 2, layout.codes, BF16};
  }
}

std::int64_t RowBytesOf(const GatherContract& contract,
                        const RowLayout& layout) {
  return contract.rows() == GatherContract::ROWS_ONE_SCALE ? kOneScaleCodes
                                                           : layout.row_bytes;
}

std::int64_t RequestCount(const StepImage& step) {
  const std::int64_t starts = Length(step.Find(TensorId::kWorkspaceStarts));
  return step.Find(TensorId::kDstScales) == nullptr
             ? starts
             : std::max<std::int64_t>(starts - 1, 0);
}

std::int64_t TaskLimit(const GatherContract& contract, const PoolImage& pool,
                       const StepImage& step) {
  const std::int64_t rows = Length(step.Find(TensorId::kDst));
  const std::int64_t requests = RequestCount(step);
  const std::int64_t pages = (rows + pool.page_size - 1) / pool.page_size;
  switch (contract.page_tasks()) {
    case GatherContract::ROWS_PLUS_TWO_PER_REQUEST:
      return pages + 2 * requests;
    case GatherContract::ROWS_ONLY:
      return pages;
    default:
      return std::numeric_limits<std::int64_t>::max();
  }
}

std::vector<GatherRequest> SplitRequests(const GatherContract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step) {
  std::vector<GatherRequest> split;
  const Tensor* dst = step.Find(TensorId::kDst);
  const Tensor* starts = step.Find(TensorId::kWorkspaceStarts);
  if (dst == nullptr || starts == nullptr || pool.page_size <= 0) return split;
  const Tensor* lengths = step.Find(TensorId::kSeqLens);
  const Storage<std::int32_t> start_of(starts);
  const Storage<std::int32_t> length_of(lengths);
  const Storage<std::int32_t> token_of(step.Find(TensorId::kSeqStarts));
  const std::int64_t dst_rows = dst->shape[0];
  const std::int64_t requests = std::min(RequestCount(step), start_of.size());
  split.reserve(static_cast<std::size_t>(requests));
  // What a start past the end of dst counts as.
  const std::int64_t last_start =
      contract.starts_past_end() == GatherContract::STARTS_UNCHECKED
          ? std::numeric_limits<std::int32_t>::max()
          : dst_rows;
  std::int64_t tasks_left = TaskLimit(contract, pool, step);
  for (std::int64_t i = 0; i < requests; ++i) {
    GatherRequest r{.request = i};
    std::int64_t first = start_of[i];
    if (lengths != nullptr) {
      // A request without a length is a misuse; nothing is known of its rows.
      r.rows = length_of.Has(i) ? length_of[i] : 0;
    } else {
      first = std::min(first, last_start);
      const std::int64_t end =
          i + 1 < starts->shape[0] && start_of.Has(i + 1)
              ? std::min<std::int64_t>(start_of[i + 1], last_start)
              : dst_rows;
      r.rows = end - first;
    }
    r.first_row = first;
    r.rows = std::max<std::int64_t>(r.rows, 0);
    r.first_token = token_of.Has(i) ? token_of[i] : 0;
    const std::int64_t inside = FloorMod(r.first_token, pool.page_size);
    r.tasks = (inside + r.rows + pool.page_size - 1) / pool.page_size;
    const std::int64_t done = std::min(r.tasks, tasks_left);
    tasks_left -= done;
    r.done_rows = done == r.tasks ? r.rows
                                  : std::max<std::int64_t>(
                                        done * pool.page_size - inside, 0);
    split.push_back(r);
  }
  return split;
}

void ForEachGatherRow(const GatherContract& contract, const PoolImage& pool,
                      const StepImage& step,
                      absl::FunctionRef<void(const GatherRow&)> visit) {
  ForEachGatherRow(contract, pool, step, SplitRequests(contract, pool, step),
                   visit);
}

void ForEachGatherRow(const GatherContract& contract, const PoolImage& pool,
                      const StepImage& step,
                      const std::vector<GatherRequest>& requests,
                      absl::FunctionRef<void(const GatherRow&)> visit) {
  const Tensor* dst = step.Find(TensorId::kDst);
  const Tensor* table = step.Find(TensorId::kBlockTable);
  if (dst == nullptr || table == nullptr) return;
  const Storage<std::int32_t> entry_of(table);
  const std::int64_t columns = table->shape[1];
  const std::int64_t row_step =
      contract.table_row() == GatherContract::TABLE_ROW_SHAPE
          ? columns
          : table->strides[0];
  const bool skips =
      contract.table_columns() == GatherContract::TABLE_COLUMNS_SKIPPED;
  for (const GatherRequest& r : requests) {
    // Only rows inside dst: first_row + i in [0, rows).
    const std::int64_t begin = std::max<std::int64_t>(0, -r.first_row);
    const std::int64_t end = std::min(r.done_rows, dst->shape[0] - r.first_row);
    for (std::int64_t i = begin; i < end; ++i) {
      GatherRow row{.row = r.first_row + i,
                    .request = r.request,
                    .token = r.first_token + i,
                    .column = FloorDiv(r.first_token + i, pool.page_size),
                    .entry = 0,
                    .page = -1,
                    .slot = -1,
                    .source = GatherRow::Source::kOutsideTable};
      const std::int64_t entry = r.request * row_step + row.column;
      row.entry = entry;
      if (skips && row.column >= columns) {
        row.source = GatherRow::Source::kSkipped;
      } else if (row.column >= 0 && entry_of.Has(entry)) {
        row.page = entry_of[entry];
        row.source = GatherRow::Source::kOutsidePool;
        if (row.page >= 0 && row.page < pool.pages) {
          row.source = GatherRow::Source::kSlot;
          row.slot =
              row.page * pool.page_size + FloorMod(row.token, pool.page_size);
        }
      }
      visit(row);
    }
  }
}

}  // namespace mlafuzz::oracle
