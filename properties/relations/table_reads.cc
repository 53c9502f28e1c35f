#include "properties/relations/table_reads.h"

#include <algorithm>

#include "properties/relations/step_relation.h"

namespace mlafuzz {

std::vector<bool> TableReads(const PoolImage& pool, const StepImage& step) {
  const Tensor& table = *step.Find(TensorId::kBlockTable);
  std::vector<bool> reads(table.bytes.size() / 4);
  const auto mark = [&](std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * table.strides[0] + column;
    if (at >= 0 && at < static_cast<std::int64_t>(reads.size())) {
      reads[static_cast<std::size_t>(at)] = true;
    }
  };
  if (step.kernel == Kernel::kGather) {
    const std::vector<RequestRows> requests = RequestsOf(step);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const RequestRows& r = requests[i];
      if (r.rows == 0) continue;
      for (std::int64_t column = r.first_token / pool.page_size;
           column <= (r.first_token + r.rows - 1) / pool.page_size; ++column) {
        mark(static_cast<std::int64_t>(i), column);
      }
    }
  } else if (step.kernel == Kernel::kConvert) {
    const Tensor& ids = *step.Find(TensorId::kRequestIds);
    const Tensor& indices = *step.Find(TensorId::kTokenIndices);
    for (std::int64_t row = 0; row < indices.shape[0]; ++row) {
      const std::int64_t id = ElementAt<std::int32_t>(ids, row);
      for (std::int64_t i = 0; i < indices.shape[1]; ++i) {
        const std::int64_t token =
            ElementAt<std::int32_t>(indices, row * indices.strides[0] + i);
        if (token < 0 || token / pool.page_size >= table.shape[1]) continue;
        mark(id, token / pool.page_size);
      }
    }
  }
  return reads;
}

}  // namespace mlafuzz
