#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "oracle/convert_index.h"
#include "oracle/expect_parts.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// The outputs of one convert step; elements outside a tensor are left out.
class Outputs {
 public:
  Outputs(const StepImage& step, Expectation* result) : result_(result) {
    for (std::size_t i = 0; i < step.tensors.size(); ++i) {
      const Tensor& tensor = step.tensors[i];
      if (!tensor.output) continue;
      result->outputs[i] = tensor.bytes;
      if (tensor.id == TensorId::kOut) {
        out_ = static_cast<int>(i);
        out_stride_ = tensor.strides[0];
      } else if (tensor.id == TensorId::kValidCount) {
        count_ = static_cast<int>(i);
        count_stride_ = tensor.strides[0];
      }
    }
  }

  void Set(std::int64_t row, std::int64_t column, std::int32_t value) {
    Put(out_, row * out_stride_ + column, value);
  }
  void SetCount(std::int64_t row, std::int32_t value) {
    if (count_ >= 0) Put(count_, row * count_stride_, value);
  }
  // The element depends on memory outside the table.
  void Unknown(std::int64_t row, std::int64_t column) {
    const std::int64_t at = 4 * (row * out_stride_ + column);
    result_->unsettled.push_back({.tensor = out_, .begin = at, .end = at + 4});
  }

 private:
  void Put(int tensor, std::int64_t element, std::int32_t value) {
    std::vector<std::uint8_t>& bytes = result_->outputs[tensor];
    const std::int64_t at = 4 * element;
    if (at < 0 || at + 4 > static_cast<std::int64_t>(bytes.size())) return;
    StoreBytes(value, bytes.data() + at);
    result_->written += 4;
  }

  Expectation* result_;
  int out_ = -1;
  int count_ = -1;
  std::int64_t out_stride_ = 0;
  std::int64_t count_stride_ = 0;
};

}  // namespace

void ExpectConvert(const ConvertContract& contract, const PoolImage& pool,
                   const StepImage& step, Expectation* result) {
  Outputs outputs(step, result);
  const Tensor* indices = step.Find(TensorId::kTokenIndices);
  const Tensor* requests = step.Find(TensorId::kRequestIds);
  if (indices == nullptr || requests == nullptr ||
      step.Find(TensorId::kOut) == nullptr || pool.page_size <= 0) {
    return;
  }
  const Storage<std::int32_t> token_of(indices);
  const Storage<std::int32_t> request_of(requests);
  const IndexConverter converter(contract, pool, step);
  const bool compacts = contract.order() == ConvertContract::COMPACTED;
  const std::int64_t width = indices->shape[1];
  // A row without a request id is a misuse; nothing is known of its output.
  const std::int64_t rows = std::min(indices->shape[0], requests->shape[0]);

  for (std::int64_t row = 0; row < rows; ++row) {
    // Valid entries in input order; `unknown` marks those read from outside.
    struct Entry {
      std::int32_t slot;
      bool unknown;
    };
    absl::InlinedVector<Entry, 64> valid;
    std::int64_t non_negative = 0;
    std::int64_t valid_count = 0;
    const auto put_invalid = [&](std::int64_t column) {
      switch (contract.invalid()) {
        case ConvertContract::INVALID_UNTOUCHED:
          break;
        case ConvertContract::INVALID_ZERO:
          outputs.Set(row, column, 0);
          break;
        default:
          outputs.Set(row, column, -1);
      }
    };
    const auto put_valid = [&](std::int64_t column, const Entry& entry) {
      if (entry.unknown) {
        outputs.Unknown(row, column);
      } else {
        outputs.Set(row, column, entry.slot);
      }
    };
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int32_t token = token_of[row * indices->strides[0] + i];
      const ConvertedIndex index =
          converter.Convert(row, request_of[row * requests->strides[0]], token);
      if (token >= 0) ++non_negative;
      if (index.kind == ConvertedIndex::Kind::kInvalid) {
        if (!compacts) put_invalid(i);
        continue;
      }
      ++valid_count;
      // int32 arithmetic wraps. Where that is no rule, past 2^31 slots the case
      // is unspecified.
      const Entry entry = {
          static_cast<std::int32_t>(static_cast<std::uint32_t>(index.slot)),
          index.kind == ConvertedIndex::Kind::kOutsideTable};
      if (compacts) {
        valid.push_back(entry);
      } else {
        put_valid(i, entry);
      }
    }
    if (compacts) {
      std::int64_t at = 0;
      for (const Entry& entry : valid) put_valid(at++, entry);
      for (; at < width; ++at) put_invalid(at);
    }
    outputs.SetCount(
        row, static_cast<std::int32_t>(
                 contract.valid_count() == ConvertContract::COUNT_NON_NEGATIVE
                     ? non_negative
                     : valid_count));
  }
}

}  // namespace mlafuzz::oracle
