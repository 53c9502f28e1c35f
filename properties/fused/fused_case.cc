#include "properties/fused/fused_case.h"

#include <algorithm>
#include <atomic>
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

std::atomic<std::uint64_t> next_serial{1};

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

// Adds `by` to the numbers in [0, domain) of `rows` rows that begin at `data`.
template <typename T>
void Move(const Tensor& tensor, std::uint8_t* data, std::int64_t rows,
          std::int64_t domain, std::int64_t by) {
  const std::int64_t columns = tensor.ndim > 1 ? tensor.shape[1] : 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      std::uint8_t* const at =
          data + static_cast<std::size_t>(row * tensor.strides[0] +
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

// A tensor without its bytes.
Tensor ShapeOf(const Tensor& tensor) {
  return {.id = tensor.id,
          .dtype = tensor.dtype,
          .output = tensor.output,
          .ndim = tensor.ndim,
          .shape = tensor.shape,
          .strides = tensor.strides,
          .misalignment = tensor.misalignment,
          .bytes = {}};
}

}  // namespace

FusedCase::FusedCase(std::vector<const CaseImage*> members)
    : serial_(next_serial++), members_(std::move(members)) {
  const CaseImage& first = *members_[0];
  shape_.source = first.source;
  shape_.launch = first.launch;
  PoolImage& pool = shape_.pool;
  pool = {.layout = first.pool.layout,
          .page_size = first.pool.page_size,
          .page_stride = first.pool.page_stride,
          .row_stride = first.pool.row_stride,
          .row_bytes = first.pool.row_bytes,
          .row_part = first.pool.row_part,
          .offset = first.pool.offset};
  first_page_.reserve(members_.size());
  for (const CaseImage* member : members_) {
    first_page_.push_back(pool.pages);
    pool.pages += member->pool.pages;
  }
  pool_size_ =
      static_cast<std::size_t>(pool.offset + pool.pages * pool.page_stride);
  tensors_.resize(first.steps.size());
  for (std::size_t number = 0; number < first.steps.size(); ++number) {
    const StepImage& of_first = first.steps[number];
    StepImage& step = shape_.steps.emplace_back();
    step.kernel = of_first.kernel;
    step.step = of_first.step;
    for (const Tensor& tensor : of_first.tensors) {
      step.tensors.push_back(ShapeOf(tensor));
      tensors_[number].push_back(
          {.first_row = std::vector<std::int64_t>(members_.size(), 0),
           .row_bytes = RowBytes(tensor),
           .size = IsShared(tensor) ? tensor.bytes.size() : 0});
    }
  }
  Stack();
}

// Rows of all members end to end.
void FusedCase::Stack() {
  for (std::size_t number = 0; number < tensors_.size(); ++number) {
    std::vector<std::int64_t> rows(tensors_[number].size(), 0);
    std::vector<char> has_end;
    std::vector<char> shared;
    for (const Tensor& tensor : members_[0]->steps[number].tensors) {
      has_end.push_back(HasEnd(members_[0]->steps[number], tensor) ? 1 : 0);
      shared.push_back(IsShared(tensor) ? 1 : 0);
    }
    // Member by member: what is known of one lies together.
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::vector<Tensor>& parts = members_[m]->steps[number].tensors;
      for (std::size_t at = 0; at < rows.size(); ++at) {
        if (shared[at] != 0) continue;
        Stacked& stacked = tensors_[number][at];
        stacked.first_row[m] = rows[at];
        if (!parts[at].bytes.empty()) {
          stacked.size =
              static_cast<std::size_t>(rows[at]) * stacked.row_bytes +
              parts[at].bytes.size();
        }
        rows[at] += parts[at].shape[0] - has_end[at];
      }
    }
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (shared[at] != 0) continue;
      shape_.steps[number].tensors[at].shape[0] = rows[at] + has_end[at];
    }
  }
}

FusedCase::Place FusedCase::PagesOf(std::size_t m) const {
  return {static_cast<std::size_t>(shape_.pool.offset +
                                   first_page_[m] * shape_.pool.page_stride),
          members_[m]->pool.bytes.size() -
              static_cast<std::size_t>(members_[m]->pool.offset)};
}

FusedCase::Place FusedCase::RowsOf(std::size_t number, std::size_t at,
                                   std::size_t m) const {
  const Stacked& stacked = tensors_[number][at];
  return {static_cast<std::size_t>(stacked.first_row[m]) * stacked.row_bytes,
          members_[m]->steps[number].tensors[at].bytes.size()};
}

CaseImage FusedCase::Lay(int threads) const {
  CaseImage image = shape_;
  Memory memory;
  image.pool.bytes.resize(pool_size_);
  memory.pool = image.pool.bytes.data();
  memory.tensors.resize(image.steps.size());
  for (std::size_t number = 0; number < image.steps.size(); ++number) {
    for (std::size_t at = 0; at < image.steps[number].tensors.size(); ++at) {
      auto& bytes = image.steps[number].tensors[at].bytes;
      bytes.resize(tensor_size(number, at));
      memory.tensors[number].push_back(bytes.data());
    }
  }
  LayInto(memory, threads);
  return image;
}

void FusedCase::LayInto(const Memory& memory, int threads) const {
  const PoolImage& first = members_[0]->pool;
  if (memory.pool != nullptr) {
    std::copy(first.bytes.begin(), first.bytes.begin() + first.offset,
              memory.pool);
  }
  ForEach(members_.size(), threads, [&](std::size_t m) {
    if (memory.pool != nullptr) {
      const PoolImage& own = members_[m]->pool;
      std::copy(own.bytes.begin() + own.offset, own.bytes.end(),
                memory.pool + PagesOf(m).begin);
    }
    for (std::size_t number = 0; number < tensors_.size(); ++number) {
      for (std::size_t at = 0; at < tensors_[number].size(); ++at) {
        LayRows(number, at, m, memory.tensors[number][at]);
      }
    }
  });
}

void FusedCase::LayRows(std::size_t number, std::size_t at, std::size_t m,
                        std::uint8_t* data) const {
  const Tensor& own = members_[m]->steps[number].tensors[at];
  const Stacked& stacked = tensors_[number][at];
  if (IsShared(own)) {
    if (m == 0) std::copy(own.bytes.begin(), own.bytes.end(), data);
    return;
  }
  const std::size_t begin = RowsOf(number, at, m).begin;
  // Up to the next one's first row, which has its place from the end of a list
  // that closes with one, too.
  const bool last = m + 1 == members_.size();
  const std::size_t end =
      last ? stacked.size
           : std::min(stacked.size, RowsOf(number, at, m + 1).begin);
  if (begin >= end) return;
  const std::size_t bytes = std::min(own.bytes.size(), end - begin);
  std::memcpy(data + begin, own.bytes.data(), bytes);
  std::memset(data + begin + bytes, kGap, end - begin - bytes);
  MoveNumbers(number, at, m, data + begin);
}

void FusedCase::LayGaps(std::size_t number, std::size_t at,
                        std::uint8_t* data) const {
  std::size_t end = 0;  // of the members so far
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Place rows = RowsOf(number, at, m);
    if (rows.size == 0) continue;
    if (rows.begin > end) std::memset(data + end, kGap, rows.begin - end);
    end = rows.begin + rows.size;
  }
}

void FusedCase::MoveNumbers(std::size_t number, std::size_t at, std::size_t m,
                            std::uint8_t* data) const {
  const StepImage& step = members_[m]->steps[number];
  const Tensor& tensor = step.tensors[at];
  const PoolImage& own = members_[m]->pool;
  const std::int64_t page = first_page_[m];
  const std::int64_t slot = page * own.page_size;
  const std::int64_t count = tensor.shape[0];
  const auto first_row = [&](TensorId id) {
    return tensors_[number][At(step, id)].first_row[m];
  };
  if (tensor.id == TensorId::kSlotMapping) {
    Move<std::int64_t>(tensor, data, count, own.slots(), slot);
  } else if (tensor.id == TensorId::kIndices) {
    Move<std::int32_t>(tensor, data, count, own.slots(), slot);
  } else if (tensor.id == TensorId::kBlockTable &&
             step.kernel == Kernel::kGather) {
    Move<std::int32_t>(tensor, data, count, own.pages, page);
  } else if (tensor.id == TensorId::kWorkspaceStarts) {
    // An end is the next member's to write, but for the last one's.
    const bool last = m + 1 == members_.size();
    Move<std::int32_t>(tensor, data, count - (HasEnd(step, tensor) && !last),
                       kMostFusedRows, first_row(TensorId::kDst));
  } else if (tensor.id == TensorId::kRequestIds) {
    Move<std::int32_t>(tensor, data, count, kMostFusedRows,
                       first_row(TensorId::kBlockTable));
  }
}

absl::StatusOr<std::vector<Observation>> FusedCase::Split(
    const Observation& fused, int threads) const {
  const auto no = [](const std::string& why) {
    return absl::FailedPreconditionError(why);
  };
  if (fused.steps.size() != shape_.steps.size()) return no("a step is missing");
  for (std::size_t number = 0; number < shape_.steps.size(); ++number) {
    const StepImage& step = shape_.steps[number];
    const StepObservation& together = fused.steps[number];
    if (together.status != CallStatus::kOk) {
      return no(absl::StrCat("the call ended in ",
                             CallStatusName(together.status), ": ",
                             together.message));
    }
    if (!together.strays.empty()) return no("bytes outside of tensors changed");
    if (!together.reports.empty()) return no("a sanitizer reported something");
    if (together.pool.has_value() &&
        std::memcmp(together.pool->data(), members_[0]->pool.bytes.data(),
                    static_cast<std::size_t>(shape_.pool.offset)) != 0) {
      return no("bytes before the pool changed");
    }
    for (std::size_t at = 0; at < step.tensors.size(); ++at) {
      if (step.tensors[at].output &&
          (together.outputs[at].size() != tensor_size(number, at) ||
           !GapsAreWhole(number, at, together.outputs[at].data()))) {
        return no(absl::StrCat("bytes between rows of ",
                               TensorName(step.tensors[at].id), " changed"));
      }
    }
  }
  std::vector<Observation> seen(members_.size());
  ForEach(members_.size(), threads,
          [&](std::size_t m) { seen[m] = Part(fused, m); });
  return seen;
}

bool FusedCase::GapsAreWhole(std::size_t number, std::size_t at,
                             const std::uint8_t* bytes) const {
  std::size_t end = 0;  // of the members so far
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Place rows = RowsOf(number, at, m);
    if (rows.size == 0) continue;
    if (rows.begin > end &&
        !std::all_of(bytes + end, bytes + rows.begin,
                     [](std::uint8_t byte) { return byte == kGap; })) {
      return false;
    }
    end = rows.begin + rows.size;
  }
  return true;
}

Observation FusedCase::Part(const Observation& fused, std::size_t m) const {
  Observation part;
  part.earlier_calls = fused.earlier_calls;
  part.steps.reserve(shape_.steps.size());
  const std::vector<std::uint8_t>* last_pool = &members_[m]->pool.bytes;
  for (std::size_t number = 0; number < shape_.steps.size(); ++number) {
    const StepImage& step = shape_.steps[number];
    const StepObservation& together = fused.steps[number];
    StepObservation& own = part.steps.emplace_back();
    own.outputs.resize(step.tensors.size());
    for (std::size_t at = 0; at < step.tensors.size(); ++at) {
      const Place rows = RowsOf(number, at, m);
      if (!step.tensors[at].output || rows.size == 0) continue;
      const auto begin = together.outputs[at].begin() +
                         static_cast<std::ptrdiff_t>(rows.begin);
      own.outputs[at].assign(begin,
                             begin + static_cast<std::ptrdiff_t>(rows.size));
    }
    if (!together.pool.has_value()) continue;
    const auto offset = static_cast<std::size_t>(members_[m]->pool.offset);
    const std::size_t size = last_pool->size() - offset;
    const std::uint8_t* const pages = together.pool->data() + PagesOf(m).begin;
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
