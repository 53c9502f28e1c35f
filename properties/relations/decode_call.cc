#include "properties/relations/decode_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oracle/decode/keys.h"

namespace mlafuzz {
namespace {

// Columns [first, first + count) of dimension 1 of a tensor of two or three
// dimensions, dense.
Tensor Columns(const Tensor& t, std::int64_t first, std::int64_t count) {
  const std::int64_t size = DTypeSize(t.dtype);
  const std::int64_t inner = t.ndim == 3 ? t.shape[2] : 1;
  Tensor dense;
  dense.id = t.id;
  dense.dtype = t.dtype;
  dense.output = t.output;
  dense.ndim = t.ndim;
  dense.shape = {t.shape[0], count, t.shape[2]};
  dense.strides = {count * inner, t.ndim == 3 ? inner : 1, 1};
  dense.misalignment = t.misalignment;
  dense.bytes.resize(
      static_cast<std::size_t>(t.shape[0] * count * inner * size));
  for (std::int64_t row = 0; row < t.shape[0]; ++row) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(dense.bytes.data() + (row * count + i) * inner * size,
                  t.bytes.data() +
                      (row * t.strides[0] + (first + i) * t.strides[1]) * size,
                  static_cast<std::size_t>(inner * size));
    }
  }
  return dense;
}

}  // namespace

std::vector<Lanes> ActiveEntries(const Contract& contract,
                                 const StepImage& step) {
  const Tensor& indices = *step.Find(TensorId::kIndices);
  std::vector<Lanes> rows(static_cast<std::size_t>(indices.shape[0]));
  for (std::int64_t query = 0; query < indices.shape[0]; ++query) {
    const std::int64_t active =
        oracle::ActiveLanes(contract.decode(), step, query);
    for (std::int64_t lane = 0; lane < active; ++lane) {
      rows[static_cast<std::size_t>(query)].push_back(
          ElementAt<std::int32_t>(indices, query * indices.strides[0] + lane));
    }
  }
  return rows;
}

bool HasKeys(const Contract& contract, const CaseImage& image,
             const StepImage& step) {
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  for (std::int64_t query = 0; query < queries; ++query) {
    if (!oracle::PlanKeys(contract, image.pool, step, query, {}).keys.empty()) {
      return true;
    }
  }
  return false;
}

CaseImage OneDecode(const StepContext& context, Decode** call) {
  CaseImage image = OneStep(context);
  Step& step = context.reruns.calls.emplace_back(*context.step.step);
  image.steps[0].step = &step;
  *call = step.mutable_decode();
  return image;
}

void SetRows(StepImage& step, const std::vector<Lanes>& rows) {
  std::size_t width = 0;
  for (const Lanes& row : rows) width = std::max(width, row.size());
  Tensor& t = *step.Find(TensorId::kIndices);
  t.shape = {static_cast<std::int64_t>(rows.size()),
             static_cast<std::int64_t>(width), 1};
  t.strides = {static_cast<std::int64_t>(width), 1, 1};
  t.bytes.assign(4 * rows.size() * width, 0xff);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    std::memcpy(t.bytes.data() + 4 * i * width, rows[i].data(),
                4 * rows[i].size());
  }
  if (Tensor* lengths = step.Find(TensorId::kLengths); lengths != nullptr) {
    std::vector<std::int64_t> sizes;
    for (const Lanes& row : rows) {
      sizes.push_back(static_cast<std::int64_t>(row.size()));
    }
    *lengths = MakeList(TensorId::kLengths, sizes, I32);
  }
}

void WidenIndices(StepImage& step, std::int64_t more) {
  Tensor& indices = *step.Find(TensorId::kIndices);
  const std::int64_t rows = indices.shape[0];
  const std::int64_t width = indices.shape[1];
  Tensor wide = indices;
  wide.shape[1] = width + more;
  wide.strides[0] = std::max(indices.strides[0], width + more);
  if (rows > 0) {
    wide.bytes.assign(static_cast<std::size_t>(
                          4 * ((rows - 1) * wide.strides[0] + width + more)),
                      0xff);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    if (width == 0) continue;
    std::memcpy(wide.bytes.data() + 4 * row * wide.strides[0],
                indices.bytes.data() + 4 * row * indices.strides[0],
                static_cast<std::size_t>(4 * width));
  }
  indices = std::move(wide);
}

StepImage HeadsOf(const StepImage& step, std::int64_t first,
                  std::int64_t count) {
  StepImage shard = step;
  for (Tensor& t : shard.tensors) {
    switch (t.id) {
      case TensorId::kQ:
      case TensorId::kAttention:
      case TensorId::kLse:
        t = Columns(t, first, count);
        break;
      case TensorId::kSinks:
        t = RowsOf(t, first, count);
        break;
      default:  // the same for all heads
        break;
    }
  }
  return shard;
}

StepImage QueryOf(const StepImage& step, std::int64_t query) {
  StepImage one = step;
  for (Tensor& t : one.tensors) {
    if (t.id != TensorId::kSinks && t.id != TensorId::kExtraCache) {
      t = RowsOf(t, query, 1);
    }
  }
  return one;
}

void DropExtra(StepImage& step) {
  step.tensors.erase(std::remove_if(step.tensors.begin(), step.tensors.end(),
                                    [](const Tensor& t) {
                                      return t.id == TensorId::kExtraCache ||
                                             t.id == TensorId::kExtraIndices ||
                                             t.id == TensorId::kExtraLengths;
                                    }),
                     step.tensors.end());
  step.extra = {};
}

void DropSinks(StepImage& step) {
  step.tensors.erase(
      std::remove_if(step.tensors.begin(), step.tensors.end(),
                     [](const Tensor& t) { return t.id == TensorId::kSinks; }),
      step.tensors.end());
}

}  // namespace mlafuzz
