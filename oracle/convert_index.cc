#include "oracle/convert_index.h"

namespace mlafuzz::oracle {

IndexConverter::IndexConverter(const ConvertContract& contract,
                               const PoolImage& pool, const StepImage& step)
    : negative_(contract.negative()),
      table_columns_(contract.table_columns()),
      requests_(contract.requests()),
      table_(step.Find(TensorId::kBlockTable)),
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

ConvertedIndex IndexConverter::Convert(std::int64_t request,
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
  if ((table_columns_ == ConvertContract::COLUMNS_BY_SHAPE &&
       column >= columns_) ||
      (table_columns_ == ConvertContract::COLUMNS_ONE_MORE &&
       column > columns_) ||
      (table_columns_ == ConvertContract::COLUMNS_BY_STRIDE &&
       column >= stride_)) {
    return {.kind = Kind::kInvalid, .column = column};
  }
  const std::int64_t entry = request * row_step_ + column;
  if (!table_.Has(entry)) {
    return {.kind = Kind::kOutsideTable, .column = column, .entry = entry};
  }
  const std::int64_t page = table_[entry];
  return {.kind = Kind::kSlot,
          .slot = page * page_size_ + token % page_size_,
          .page = page,
          .column = column,
          .entry = entry};
}

}  // namespace mlafuzz::oracle
