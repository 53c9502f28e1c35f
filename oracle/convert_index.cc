#include "oracle/convert_index.h"

#include <algorithm>
#include <limits>

namespace mlafuzz::oracle {

IndexConverter::IndexConverter(const ConvertContract& contract,
                               const PoolImage& pool, const StepImage& step)
    : negative_(contract.negative()),
      table_columns_(contract.table_columns()),
      requests_(contract.requests()),
      workspace_(contract.workspace()),
      pages_(contract.pages()),
      table_(step.Find(TensorId::kBlockTable)),
      prefill_ids_(step.Find(TensorId::kPrefillIds)),
      prefill_starts_(step.Find(TensorId::kPrefillStarts)),
      page_size_(pool.page_size),
      rows_(0),
      columns_(0),
      stride_(0),
      row_step_(0) {
  if (const Tensor* table = step.Find(TensorId::kBlockTable)) {
    rows_ = table->shape[0];
    columns_ = table->shape[1];
    stride_ = table->strides[0];
    row_step_ = contract.table_row() == ConvertContract::TABLE_ROW_SHAPE
                    ? columns_
                    : stride_;
  }
}

std::int64_t IndexConverter::PrefillRequest(std::int64_t row) const {
  if (workspace_ == ConvertContract::WORKSPACE_UNKNOWN ||
      workspace_ == ConvertContract::WORKSPACE_BY_TABLE ||
      !prefill_ids_.Has(row)) {
    return -1;
  }
  return std::max<std::int64_t>(prefill_ids_[row], -1);
}

ConvertedIndex IndexConverter::InWorkspace(std::int64_t row,
                                           std::int64_t prefill,
                                           std::int32_t token) const {
  ConvertedIndex index = {.kind = ConvertedIndex::Kind::kSlot,
                          .slot = token,
                          .in_workspace = true,
                          .column = token / page_size_};
  if (workspace_ == ConvertContract::WORKSPACE_START_DROPPED) return index;
  const std::int64_t start =
      workspace_ == ConvertContract::WORKSPACE_START_OF_ROW ? row : prefill;
  index.entry = start;
  if (!prefill_starts_.Has(start)) {
    index.kind = ConvertedIndex::Kind::kOutsideTable;
    return index;
  }
  index.slot += prefill_starts_[start];
  return index;
}

ConvertedIndex IndexConverter::Convert(std::int64_t row, std::int64_t request,
                                       std::int32_t token) const {
  using Kind = ConvertedIndex::Kind;
  if (negative_ == ConvertContract::MINUS_ONE_ONLY ? token == -1 : token < 0) {
    return {.kind = Kind::kInvalid};
  }
  const std::int64_t column = token / page_size_;
  if (requests_ == ConvertContract::REQUESTS_INVALID &&
      (request < 0 || request >= rows_)) {
    return {.kind = Kind::kInvalid, .column = column};
  }
  const std::int64_t prefill = PrefillRequest(row);
  if (prefill >= 0 && workspace_ == ConvertContract::WORKSPACE_UNBOUNDED) {
    return InWorkspace(row, prefill, token);
  }
  if ((table_columns_ == ConvertContract::COLUMNS_BY_SHAPE &&
       column >= columns_) ||
      (table_columns_ == ConvertContract::COLUMNS_ONE_MORE &&
       column > columns_) ||
      (table_columns_ == ConvertContract::COLUMNS_BY_STRIDE &&
       column >= stride_)) {
    return {.kind = Kind::kInvalid, .column = column};
  }
  if (prefill >= 0) return InWorkspace(row, prefill, token);
  const std::int64_t entry = request * row_step_ + column;
  if (!table_.Has(entry)) {
    return {.kind = Kind::kOutsideTable, .column = column, .entry = entry};
  }
  const std::int64_t page = table_[entry];
  const std::int64_t slot = page * page_size_ + token % page_size_;
  const bool fits =
      slot >= 0 && slot <= std::numeric_limits<std::int32_t>::max();
  return {.kind = fits || pages_ != ConvertContract::PAGES_FITTING
                      ? Kind::kSlot
                      : Kind::kInvalid,
          .slot = slot,
          .page = page,
          .column = column,
          .entry = entry};
}

}  // namespace mlafuzz::oracle
