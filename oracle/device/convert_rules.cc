#include "oracle/device/convert_rules.h"

#include <limits>

#include "oracle/convert_index.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

ConvertRules::Invalid InvalidOf(const ConvertContract& contract) {
  switch (contract.invalid()) {
    case ConvertContract::INVALID_UNTOUCHED:
      return ConvertRules::Invalid::kUntouched;
    case ConvertContract::INVALID_ZERO:
      return ConvertRules::Invalid::kZero;
    default:
      return ConvertRules::Invalid::kMinusOne;
  }
}

std::int64_t ColumnsOf(const ConvertContract& contract, const Tensor& table) {
  switch (contract.table_columns()) {
    case ConvertContract::COLUMNS_BY_SHAPE:
      return table.shape[1];
    case ConvertContract::COLUMNS_ONE_MORE:
      return table.shape[1] + 1;
    case ConvertContract::COLUMNS_BY_STRIDE:
      return table.strides[0];
    default:
      return std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace

std::optional<ConvertRules> ConvertRulesOf(const ConvertContract& contract,
                                           const PoolImage& pool,
                                           const StepImage& step) {
  const Tensor* const indices = step.Find(TensorId::kTokenIndices);
  const Tensor* const requests = step.Find(TensorId::kRequestIds);
  const Tensor* const table = step.Find(TensorId::kBlockTable);
  const Tensor* const out = step.Find(TensorId::kOut);
  if (indices == nullptr || requests == nullptr || table == nullptr ||
      out == nullptr || pool.page_size <= 0 ||
      requests->shape[0] != indices->shape[0] ||
      step.Find(TensorId::kPrefillIds) != nullptr) {
    return std::nullopt;
  }
  return ConvertRules{
      .invalid = InvalidOf(contract),
      .minus_one_only = contract.negative() == ConvertContract::MINUS_ONE_ONLY,
      .requests_invalid =
          contract.requests() == ConvertContract::REQUESTS_INVALID,
      .fitting = contract.pages() == ConvertContract::PAGES_FITTING,
      .count_non_negative =
          contract.valid_count() == ConvertContract::COUNT_NON_NEGATIVE,
      .compacts = contract.order() == ConvertContract::COMPACTED,
      .page_size = pool.page_size,
      .columns = ColumnsOf(contract, *table),
      .table_rows = table->shape[0],
      .table_step = contract.table_row() == ConvertContract::TABLE_ROW_SHAPE
                        ? table->shape[1]
                        : table->strides[0],
  };
}

bool ConvertWrites(const ConvertContract& contract, const PoolImage& pool,
                   const StepImage& step) {
  const Tensor& indices = *step.Find(TensorId::kTokenIndices);
  const Tensor* const counts = step.Find(TensorId::kValidCount);
  if (indices.shape[0] == 0) return false;
  if (counts != nullptr && !counts->bytes.empty()) return true;
  if (contract.invalid() != ConvertContract::INVALID_UNTOUCHED) {
    return indices.shape[1] > 0;
  }
  const IndexConverter converter(contract, pool, step);
  const Storage<std::int32_t> token_of(&indices);
  const Tensor& requests = *step.Find(TensorId::kRequestIds);
  const Storage<std::int32_t> request_of(&requests);
  for (std::int64_t row = 0; row < indices.shape[0]; ++row) {
    const std::int64_t request = request_of[row * requests.strides[0]];
    for (std::int64_t i = 0; i < indices.shape[1]; ++i) {
      const std::int32_t token = token_of[row * indices.strides[0] + i];
      if (converter.Convert(row, request, token).kind ==
          ConvertedIndex::Kind::kSlot) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace mlafuzz::oracle
