// Which cases may share a call.

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "oracle/validity.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

template <typename T>
void Append(std::string& key, const T& value) {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What kernels dispatch by: the widest access that an address allows.
std::uint64_t AlignmentOf(std::uint64_t address) {
  constexpr std::uint64_t kWidest = 16;
  return std::min(address == 0 ? kWidest : address & -address, kWidest);
}

std::int32_t Int32At(const Tensor& tensor, std::int64_t row,
                     std::int64_t column = 0) {
  std::int32_t value;
  std::memcpy(&value,
              tensor.bytes.data() +
                  4 * (row * tensor.strides[0] + column * tensor.strides[1]),
              sizeof value);
  return value;
}

std::int64_t Int64At(const Tensor& tensor, std::int64_t row) {
  std::int64_t value;
  std::memcpy(&value, tensor.bytes.data() + 8 * row * tensor.strides[0],
              sizeof value);
  return value;
}

// Numbers past the own domain must stay past everybody's.
bool StaysOutside(std::int64_t value, std::int64_t domain) {
  return value < domain || value >= kMostFusedSlots;
}

// Rows lie one behind the other in the tensor's bytes.
bool Stacks(const Tensor& tensor) {
  return tensor.shape[0] == 0 ||
         (tensor.strides[0] > 0 &&
          static_cast<std::int64_t>(tensor.bytes.size()) <=
              tensor.shape[0] * tensor.strides[0] * DTypeSize(tensor.dtype));
}

using Why = const char*;  // null: it may be fused

Why WhyNotWriter(const CaseImage& image, const StepImage& step) {
  const Tensor& slots = *step.Find(TensorId::kSlotMapping);
  for (const TensorId id : {TensorId::kKvC, TensorId::kKPe}) {
    const Tensor* const rows = step.Find(id);
    if (rows != nullptr && rows->shape[0] != slots.shape[0]) {
      return "the source has rows past the slots";
    }
  }
  for (std::int64_t i = 0; i < slots.shape[0]; ++i) {
    if (!StaysOutside(Int64At(slots, i), image.pool.slots())) {
      return "a slot past the pool";
    }
  }
  return nullptr;
}

Why WhyNotGather(const CaseImage& image, const StepImage& step) {
  const Tensor& dst = *step.Find(TensorId::kDst);
  const Tensor& table = *step.Find(TensorId::kBlockTable);
  const Tensor& starts = *step.Find(TensorId::kWorkspaceStarts);
  const Tensor* const lens = step.Find(TensorId::kSeqLens);
  const Tensor* const firsts = step.Find(TensorId::kSeqStarts);
  const Tensor* const scales = step.Find(TensorId::kDstScales);
  const std::int64_t requests = starts.shape[0] - (scales != nullptr ? 1 : 0);
  if (requests < 1 || table.shape[0] != requests ||
      (lens != nullptr && lens->shape[0] != requests) ||
      (firsts != nullptr && firsts->shape[0] != requests) ||
      (scales != nullptr && scales->shape[0] != dst.shape[0])) {
    return "lists of different lengths";
  }
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < starts.shape[0]; ++i) {
    const std::int64_t start = Int32At(starts, i);
    if (start < 0 || start > dst.shape[0]) return "a start past the workspace";
    // Without lengths, rows up to the next request's first belong to one.
    if (lens == nullptr && start < last) return "starts that fall";
    last = start;
  }
  if (lens == nullptr && Int32At(starts, 0) != 0) {
    return "rows before the first request";
  }
  if (scales != nullptr && last != dst.shape[0]) {
    return "rows behind the last request";
  }
  for (std::int64_t i = 0; i < requests; ++i) {
    if (lens != nullptr) {
      const std::int64_t rows = Int32At(*lens, i);
      if (rows < 0 || Int32At(starts, i) + rows > dst.shape[0]) {
        return "a request past the workspace";
      }
    }
    for (std::int64_t column = 0; column < table.shape[1]; ++column) {
      if (!StaysOutside(Int32At(table, i, column), image.pool.pages)) {
        return "a page past the pool";
      }
    }
  }
  return nullptr;
}

Why WhyNotConvert(const StepImage& step) {
  const std::int64_t rows = step.Find(TensorId::kTokenIndices)->shape[0];
  const Tensor& ids = *step.Find(TensorId::kRequestIds);
  const Tensor& table = *step.Find(TensorId::kBlockTable);
  const Tensor* const counts = step.Find(TensorId::kValidCount);
  if (ids.shape[0] != rows || step.Find(TensorId::kOut)->shape[0] != rows ||
      (counts != nullptr && counts->shape[0] != rows)) {
    return "lists of different lengths";
  }
  // Prefill requests are numbered call by call.
  if (step.Find(TensorId::kPrefillIds) != nullptr) return "a workspace";
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t id = Int32At(ids, i);
    if (id < 0 || id >= table.shape[0]) return "a request past the table";
  }
  return nullptr;
}

Why WhyNotDecode(const CaseImage& image, const StepImage& step) {
  if (step.Find(TensorId::kTrace) != nullptr) return "it is traced";
  if (step.Find(TensorId::kExtraCache) != nullptr) {
    return "it reads a second cache";
  }
  const Tensor& q = *step.Find(TensorId::kQ);
  const Tensor& indices = *step.Find(TensorId::kIndices);
  const std::int64_t length =
      std::max<std::int64_t>(step.step->decode().query_length(), 1);
  if (q.shape[0] % length != 0) return "a request of fewer queries";
  for (const Tensor& tensor : step.tensors) {
    if (tensor.id != TensorId::kSinks && tensor.shape[0] != q.shape[0]) {
      return "lists of different lengths";
    }
  }
  for (std::int64_t i = 0; i < indices.shape[0]; ++i) {
    for (std::int64_t column = 0; column < indices.shape[1]; ++column) {
      if (!StaysOutside(Int32At(indices, i, column), image.pool.slots())) {
        return "a slot past the pool";
      }
    }
  }
  return nullptr;
}

Why WhyNot(const Contract& contract, const CaseImage& image,
           const StepImage& step) {
  for (const Tensor& tensor : step.tensors) {
    if (tensor.id != TensorId::kSinks && !Stacks(tensor)) {
      return "rows that overlap";
    }
  }
  if (const Why why = WhyNoneShares(contract, step.kernel)) return why;
  switch (step.kernel) {
    case Kernel::kWriter:
      return WhyNotWriter(image, step);
    case Kernel::kGather:
      return WhyNotGather(image, step);
    case Kernel::kConvert:
      return WhyNotConvert(step);
    case Kernel::kDecode:
      return WhyNotDecode(image, step);
  }
  return "no kernel";
}

void AppendStep(std::string& key, const StepImage& step) {
  Append(key, step.kernel);
  Append(key, step.tensors.size());
  for (const Tensor& tensor : step.tensors) {
    Append(key, tensor.id);
    Append(key, tensor.dtype);
    Append(key, tensor.ndim);
    Append(key, AlignmentOf(tensor.misalignment));
    for (int d = 0; d < tensor.ndim; ++d) {
      if (d > 0) Append(key, tensor.shape[static_cast<std::size_t>(d)]);
      Append(key, tensor.strides[static_cast<std::size_t>(d)]);
    }
    if (tensor.id == TensorId::kSinks) {  // one a head, for all queries
      Append(key, tensor.bytes.size());
      key.append(tensor.bytes.begin(), tensor.bytes.end());
    }
  }
  if (step.kernel == Kernel::kGather) {
    Append(key, step.step->gather().nope());
    Append(key, step.step->gather().tensor_scale_bits());
  }
  if (step.kernel == Kernel::kDecode) {
    const Decode& call = step.step->decode();
    Append(key, call.softmax_scale_bits());
    Append(key, call.splits());
    Append(key, call.declared_topk());
    Append(key, call.query_length());
  }
}

}  // namespace

const char* WhyNoneShares(const Contract& contract, Kernel kernel) {
  if (kernel == Kernel::kGather) {
    const GatherContract& gather = contract.gather();
    if (gather.table_row() != GatherContract::TABLE_ROW_STRIDE ||
        gather.page_tasks() == GatherContract::ROWS_ONLY ||
        gather.scale_rows() == GatherContract::SCALE_ROWS_BY_CODE_STRIDE) {
      return "by its contract a request is not its own (gather.table_row, "
             "gather.page_tasks or gather.scale_rows)";
    }
  }
  // Splits that are not declared may follow from the number of queries.
  if (kernel == Kernel::kDecode &&
      (contract.arithmetic().block() == 0 ||
       contract.arithmetic().blocks_per_split() == 0)) {
    return "its contract declares no splits (arithmetic.block and "
           "arithmetic.blocks_per_split)";
  }
  return nullptr;
}

absl::StatusOr<std::string> FuseKey(const Contracts& contracts,
                                    const CaseImage& image) {
  const auto no = [](absl::string_view why) {
    return absl::FailedPreconditionError(why);
  };
  const PoolImage& pool = image.pool;
  if (image.steps.empty()) return no("no step");
  if (pool.row_stride < pool.row_part || pool.page_stride < pool.page_bytes() ||
      static_cast<std::int64_t>(pool.bytes.size()) !=
          pool.offset + pool.pages * pool.page_stride) {
    return no("rows or pages that overlap");
  }
  std::string key;
  Append(key, image.launch);
  Append(key, pool.layout);
  Append(key, pool.page_size);
  Append(key, pool.page_stride);
  Append(key, pool.row_stride);
  Append(key, pool.row_bytes);
  Append(key, pool.row_part);
  Append(key, AlignmentOf(static_cast<std::uint64_t>(pool.offset)));
  Append(key, image.steps.size());
  for (std::size_t i = 0; i < image.steps.size(); ++i) {
    const StepImage& step = image.steps[i];
    if (step.is_patch) return no("a patch between calls");
    const Contract& contract =
        *contracts[static_cast<std::size_t>(step.kernel)];
    if (Classify(contract, image, static_cast<int>(i)).validity !=
        Validity::kValid) {
      return no("a call that is not plainly valid");
    }
    if (const Why why = WhyNot(contract, image, step); why != nullptr) {
      return no(why);
    }
    AppendStep(key, step);
  }
  return key;
}

}  // namespace mlafuzz
