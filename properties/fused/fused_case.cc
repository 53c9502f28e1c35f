#include "properties/fused/fused_case.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

// Between one case's last row and the next one's first: NaN, and no number of
// a slot, whatever the dtype.
constexpr std::uint8_t kGap = 0xff;

std::size_t RowBytes(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.strides[0]) *
         static_cast<std::size_t>(DTypeSize(tensor.dtype));
}

bool IsShared(const Tensor& tensor) { return tensor.id == TensorId::kSinks; }

// Of a list of firsts that closes with an end, the end is the next one's first.
bool HasEnd(const StepImage& step, const Tensor& tensor) {
  return tensor.id == TensorId::kWorkspaceStarts &&
         step.Find(TensorId::kDstScales) != nullptr;
}

std::size_t At(const StepImage& step, TensorId id) {
  return static_cast<std::size_t>(step.Find(id) - step.tensors.data());
}

// Adds `by` to the numbers in [0, domain) of rows [first, first + rows).
template <typename T>
void Move(Tensor& tensor, std::int64_t first, std::int64_t rows,
          std::int64_t domain, std::int64_t by) {
  const std::int64_t columns = tensor.ndim > 1 ? tensor.shape[1] : 1;
  for (std::int64_t row = first; row < first + rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      std::uint8_t* const at =
          tensor.bytes.data() +
          static_cast<std::size_t>(row * tensor.strides[0] +
                                   column * tensor.strides[1]) *
              sizeof(T);
      T value;
      std::memcpy(&value, at, sizeof value);
      if (value < 0 || value >= domain) continue;
      value = static_cast<T>(value + by);
      std::memcpy(at, &value, sizeof value);
    }
  }
}

// The tensor number `at` of all members' steps, rows end to end. Their first
// rows go to `first_row`.
Tensor Stack(const std::vector<const CaseImage*>& members, std::size_t number,
             std::size_t at, int threads,
             std::vector<std::int64_t>* first_row) {
  const StepImage& first = members[0]->steps[number];
  Tensor stacked = first.tensors[at];
  first_row->assign(members.size(), 0);
  if (IsShared(stacked)) return stacked;
  const bool has_end = HasEnd(first, stacked);
  const std::size_t row_bytes = RowBytes(stacked);
  std::int64_t rows = 0;
  std::size_t size = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Tensor& part = members[m]->steps[number].tensors[at];
    (*first_row)[m] = rows;
    if (!part.bytes.empty()) {
      size = static_cast<std::size_t>(rows) * row_bytes + part.bytes.size();
    }
    rows += part.shape[0] - (has_end ? 1 : 0);
  }
  stacked.shape[0] = rows + (has_end ? 1 : 0);
  stacked.bytes.assign(size, kGap);
  ForEach(members.size(), threads, [&](std::size_t m) {
    const Tensor& part = members[m]->steps[number].tensors[at];
    std::copy(part.bytes.begin(), part.bytes.end(),
              stacked.bytes.begin() +
                  static_cast<std::ptrdiff_t>(
                      static_cast<std::size_t>((*first_row)[m]) * row_bytes));
  });
  return stacked;
}

}  // namespace

FusedCase::FusedCase(std::vector<const CaseImage*> members, CaseImage* laid,
                     int threads)
    : members_(std::move(members)) {
  const CaseImage& first = *members_[0];
  CaseImage& image = *laid;
  image = {};
  image.source = first.source;
  image.launch = first.launch;
  PoolImage& pool = image.pool;
  pool = {.layout = first.pool.layout,
          .page_size = first.pool.page_size,
          .page_stride = first.pool.page_stride,
          .row_stride = first.pool.row_stride,
          .row_bytes = first.pool.row_bytes,
          .row_part = first.pool.row_part,
          .offset = first.pool.offset};
  for (const CaseImage* member : members_) {
    first_page_.push_back(pool.pages);
    pool.pages += member->pool.pages;
  }
  pool.bytes.resize(
      static_cast<std::size_t>(pool.offset + pool.pages * pool.page_stride));
  std::copy(first.pool.bytes.begin(), first.pool.bytes.begin() + pool.offset,
            pool.bytes.begin());
  ForEach(members_.size(), threads, [&](std::size_t m) {
    const PoolImage& own = members_[m]->pool;
    std::copy(
        own.bytes.begin() + own.offset, own.bytes.end(),
        pool.bytes.begin() + pool.offset + first_page_[m] * pool.page_stride);
  });
  first_row_.resize(first.steps.size());
  for (std::size_t number = 0; number < first.steps.size(); ++number) {
    const StepImage& of_first = first.steps[number];
    StepImage& step = image.steps.emplace_back();
    step.kernel = of_first.kernel;
    step.step = of_first.step;
    first_row_[number].resize(of_first.tensors.size());
    for (std::size_t at = 0; at < of_first.tensors.size(); ++at) {
      step.tensors.push_back(
          Stack(members_, number, at, threads, &first_row_[number][at]));
    }
    ForEach(members_.size(), threads,
            [&](std::size_t m) { MoveNumbers(number, m, step); });
  }
}

void FusedCase::MoveNumbers(std::size_t number, std::size_t m,
                            StepImage& step) const {
  const PoolImage& own = members_[m]->pool;
  const auto& rows = first_row_[number];
  const std::int64_t page = first_page_[m];
  const std::int64_t slot = page * own.page_size;
  for (std::size_t at = 0; at < step.tensors.size(); ++at) {
    Tensor& tensor = step.tensors[at];
    const std::int64_t from = rows[at][m];
    const std::int64_t count = members_[m]->steps[number].tensors[at].shape[0];
    if (tensor.id == TensorId::kSlotMapping) {
      Move<std::int64_t>(tensor, from, count, own.slots(), slot);
    } else if (tensor.id == TensorId::kIndices) {
      Move<std::int32_t>(tensor, from, count, own.slots(), slot);
    } else if (tensor.id == TensorId::kBlockTable &&
               step.kernel == Kernel::kGather) {
      Move<std::int32_t>(tensor, from, count, own.pages, page);
    } else if (tensor.id == TensorId::kWorkspaceStarts) {
      // An end is the next member's to write, but for the last one's.
      const bool last = m + 1 == members_.size();
      Move<std::int32_t>(tensor, from,
                         count - (HasEnd(step, tensor) && !last ? 1 : 0),
                         kMostFusedRows, rows[At(step, TensorId::kDst)][m]);
    } else if (tensor.id == TensorId::kRequestIds) {
      Move<std::int32_t>(tensor, from, count, kMostFusedRows,
                         rows[At(step, TensorId::kBlockTable)][m]);
    }
  }
}

absl::StatusOr<std::vector<Observation>> FusedCase::Split(
    const CaseImage& image, const Observation& fused, int threads) const {
  const auto no = [](const std::string& why) {
    return absl::FailedPreconditionError(why);
  };
  if (fused.steps.size() != image.steps.size()) return no("a step is missing");
  for (std::size_t number = 0; number < image.steps.size(); ++number) {
    const StepImage& step = image.steps[number];
    const StepObservation& together = fused.steps[number];
    if (together.status != CallStatus::kOk) {
      return no(absl::StrCat("the call ended in ",
                             CallStatusName(together.status), ": ",
                             together.message));
    }
    if (!together.strays.empty()) return no("bytes outside of tensors changed");
    if (!together.reports.empty()) return no("a sanitizer reported something");
    if (together.pool.has_value() &&
        std::memcmp(together.pool->data(), image.pool.bytes.data(),
                    static_cast<std::size_t>(image.pool.offset)) != 0) {
      return no("bytes before the pool changed");
    }
    for (std::size_t at = 0; at < step.tensors.size(); ++at) {
      if (step.tensors[at].output &&
          !GapsAreWhole(number, at, step.tensors[at], together.outputs[at])) {
        return no(absl::StrCat("bytes between rows of ",
                               TensorName(step.tensors[at].id), " changed"));
      }
    }
  }
  std::vector<Observation> seen(members_.size());
  ForEach(members_.size(), threads,
          [&](std::size_t m) { seen[m] = Part(image, fused, m); });
  return seen;
}

bool FusedCase::GapsAreWhole(std::size_t number, std::size_t at,
                             const Tensor& tensor,
                             const std::vector<std::uint8_t>& bytes) const {
  const std::size_t row_bytes = RowBytes(tensor);
  std::size_t end = 0;  // of the members so far
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const std::size_t size =
        members_[m]->steps[number].tensors[at].bytes.size();
    if (size == 0) continue;
    const std::size_t begin =
        static_cast<std::size_t>(first_row_[number][at][m]) * row_bytes;
    if (begin > end &&
        std::memcmp(bytes.data() + end, tensor.bytes.data() + end,
                    begin - end) != 0) {
      return false;
    }
    end = begin + size;
  }
  return true;
}

Observation FusedCase::Part(const CaseImage& image, const Observation& fused,
                            std::size_t m) const {
  Observation part;
  part.earlier_calls = fused.earlier_calls;
  part.steps.reserve(image.steps.size());
  const std::vector<std::uint8_t>* last_pool = &members_[m]->pool.bytes;
  for (std::size_t number = 0; number < image.steps.size(); ++number) {
    const StepImage& step = image.steps[number];
    const StepObservation& together = fused.steps[number];
    StepObservation& own = part.steps.emplace_back();
    own.outputs.resize(step.tensors.size());
    for (std::size_t at = 0; at < step.tensors.size(); ++at) {
      const Tensor& tensor = step.tensors[at];
      const std::size_t size =
          members_[m]->steps[number].tensors[at].bytes.size();
      if (!tensor.output || size == 0) continue;
      const auto begin =
          together.outputs[at].begin() +
          static_cast<std::ptrdiff_t>(
              static_cast<std::size_t>(first_row_[number][at][m]) *
              RowBytes(tensor));
      own.outputs[at].assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    }
    if (!together.pool.has_value()) continue;
    const auto offset = static_cast<std::size_t>(members_[m]->pool.offset);
    const std::size_t size = last_pool->size() - offset;
    const std::uint8_t* const pages =
        together.pool->data() +
        static_cast<std::size_t>(image.pool.offset +
                                 first_page_[m] * image.pool.page_stride);
    if (std::memcmp(pages, last_pool->data() + offset, size) == 0) continue;
    own.pool = *last_pool;
    std::memcpy(own.pool->data() + offset, pages, size);
    last_pool = &*own.pool;
  }
  return part;
}

std::int64_t FusedBytes(const CaseImage& image) {
  auto bytes = static_cast<std::int64_t>(image.pool.bytes.size());
  for (const StepImage& step : image.steps) {
    for (const Tensor& tensor : step.tensors) {
      bytes += static_cast<std::int64_t>(tensor.bytes.size());
    }
  }
  return bytes;
}

std::int64_t FusedRows(const CaseImage& image) {
  const StepImage& step = image.steps[0];
  switch (step.kernel) {
    case Kernel::kWriter:
      return step.Find(TensorId::kSlotMapping)->shape[0];
    case Kernel::kGather:
      return step.Find(TensorId::kBlockTable)->shape[0];
    case Kernel::kConvert:
      return step.Find(TensorId::kTokenIndices)->shape[0];
    case Kernel::kDecode:
      return step.Find(TensorId::kQ)->shape[0];
  }
  return 0;
}

}  // namespace mlafuzz
