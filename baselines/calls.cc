#include "baselines/calls.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "baselines/rows.h"
#include "corpus/value_generator.h"

namespace mlafuzz::baselines {
namespace {

template <class T>
Tensor Dense(TensorId id, DType dtype, std::vector<std::int64_t> shape,
             absl::Span<const T> values, bool output = false) {
  Tensor t{.id = id, .dtype = dtype, .output = output};
  t.ndim = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    t.shape[i] = shape[i];
    t.strides[i] = stride;
    stride *= shape[i];
  }
  t.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) {
    std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  }
  return t;
}

// `dense` with `gap` unused elements behind each row; of a tensor of three
// dimensions one unused row behind each matrix besides. Gaps hold 0x5a.
Tensor WithGaps(const Tensor& dense, std::int64_t gap) {
  Tensor t = dense;
  const std::int64_t size = DTypeSize(t.dtype);
  const std::size_t last = static_cast<std::size_t>(t.ndim) - 1;
  const std::int64_t rows = last == 2 ? t.shape[1] : 1;
  t.strides[last - 1] = t.shape[last] + gap;
  if (last == 2) t.strides[0] = (t.shape[1] + 1) * t.strides[1];
  t.bytes.assign(static_cast<std::size_t>(t.shape[0] * t.strides[0] * size),
                 0x5a);
  const auto row_bytes = static_cast<std::size_t>(t.shape[last] * size);
  for (std::int64_t i = 0; i < t.shape[0]; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const std::int64_t to =
          i * t.strides[0] + (last == 2 ? j * t.strides[1] : 0);
      std::memcpy(
          &t.bytes[static_cast<std::size_t>(to * size)],
          &dense.bytes[static_cast<std::size_t>(i * rows + j) * row_bytes],
          row_bytes);
    }
  }
  return t;
}

template <class T>
void CopyOut(const std::vector<std::uint8_t>& bytes, std::vector<T>* out) {
  out->resize(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(out->data(), bytes.data(), bytes.size());
}

std::int64_t Size(std::size_t size) { return static_cast<std::int64_t>(size); }

}  // namespace

Calls::Calls(TargetSet targets, std::uint64_t seed)
    : targets_(std::move(targets)),
      executor_(MakeHostExecutor()),
      next_schedule_(ValueGenerator(seed).Word(0)) {}

StepImage& Calls::NewStep(Kernel kernel) {
  step_.Clear();
  case_.set_schedule(next_schedule_++);
  image_.source = &case_;
  image_.steps.clear();
  StepImage& step = image_.steps.emplace_back();
  step.kernel = kernel;
  step.step = &step_;
  return step;
}

std::string Calls::Run(PoolImage* pool) {
  image_.pool = std::move(*pool);
  const absl::Status status =
      executor_->Run(targets_, {&image_, 1}, &observations_);
  *pool = std::move(image_.pool);
  if (!status.ok()) return std::string(status.message());
  StepObservation& seen = observations_.front().steps.front();
  if (seen.pool.has_value()) pool->bytes = *std::move(seen.pool);
  if (seen.status == CallStatus::kOk) return "";
  return absl::StrCat(KernelName(image_.steps[0].kernel), ": ",
                      CallStatusName(seen.status), ": ", seen.message);
}

std::string Calls::Write(absl::Span<const std::uint16_t> kv_c,
                         absl::Span<const std::uint16_t> k_pe,
                         absl::Span<const std::int64_t> slots,
                         PoolImage* pool) {
  StepImage& step = NewStep(Kernel::kWriter);
  step_.mutable_write();
  const std::int64_t rows = Size(slots.size());
  step.tensors = {Dense(TensorId::kKvC, BF16, {rows, kLatent}, kv_c),
                  Dense(TensorId::kKPe, BF16, {rows, kRope}, k_pe),
                  Dense(TensorId::kSlotMapping, I64, {rows}, slots)};
  return Run(pool);
}

std::string Calls::Gather(const Table& table,
                          absl::Span<const std::int32_t> starts,
                          absl::Span<const std::int32_t> seq_starts,
                          PoolImage* pool, std::vector<std::uint16_t>* dst) {
  StepImage& step = NewStep(Kernel::kGather);
  step_.mutable_gather();
  const std::int64_t rows = Size(dst->size()) / kColumns;
  step.tensors = {
      Dense<std::uint16_t>(TensorId::kDst, BF16, {rows, kColumns}, *dst, true),
      Dense<std::int32_t>(TensorId::kBlockTable, I32,
                          {table.rows, table.columns}, table.pages),
      Dense(TensorId::kWorkspaceStarts, I32, {Size(starts.size())}, starts)};
  if (!seq_starts.empty()) {
    step.tensors.push_back(Dense(TensorId::kSeqStarts, I32,
                                 {Size(seq_starts.size())}, seq_starts));
  }
  std::string why = Run(pool);
  if (why.empty()) CopyOut(observations_[0].steps[0].outputs[0], dst);
  return why;
}

std::string Calls::Convert(std::int64_t page_size,
                           absl::Span<const std::int32_t> request_ids,
                           const Table& block_table, const Table& token_indices,
                           std::vector<std::int32_t>* out,
                           std::vector<std::int32_t>* valid_count) {
  StepImage& step = NewStep(Kernel::kConvert);
  step_.mutable_convert();
  const std::int64_t rows = token_indices.rows;
  const std::int64_t width = token_indices.columns;
  // What torch.empty holds is anything.
  out->assign(static_cast<std::size_t>(rows * width), 0x5a5a5a5a);
  valid_count->assign(static_cast<std::size_t>(rows), 0x5a5a5a5a);
  step.tensors = {
      Dense(TensorId::kRequestIds, I32, {Size(request_ids.size())},
            request_ids),
      Dense<std::int32_t>(TensorId::kBlockTable, I32,
                          {block_table.rows, block_table.columns},
                          block_table.pages),
      Dense<std::int32_t>(TensorId::kTokenIndices, I32, {rows, width},
                          token_indices.pages),
      Dense<std::int32_t>(TensorId::kOut, I32, {rows, width}, *out, true),
      Dense<std::int32_t>(TensorId::kValidCount, I32, {rows}, *valid_count,
                          true)};
  PoolImage pool = EmptyPool(1, page_size);
  std::string why = Run(&pool);
  if (why.empty()) {
    CopyOut(observations_[0].steps[0].outputs[3], out);
    CopyOut(observations_[0].steps[0].outputs[4], valid_count);
  }
  return why;
}

std::string Calls::Decode(const AttentionInput& input, PoolImage* pool,
                          AttentionOutput* output, std::int64_t gap) {
  StepImage& step = NewStep(Kernel::kDecode);
  mlafuzz::Decode& decode = *step_.mutable_decode();
  decode.set_softmax_scale_bits(
      std::bit_cast<std::uint32_t>(input.softmax_scale));
  Tensor q = Dense<std::uint16_t>(
      TensorId::kQ, BF16, {input.queries, input.heads, kColumns}, input.q);
  Tensor indices = Dense<std::int32_t>(
      TensorId::kIndices, I32, {input.queries, input.width}, input.indices);
  if (gap > 0) {
    q = WithGaps(q, gap);
    indices = WithGaps(indices, gap);
  }
  step.tensors = {Dense<std::uint16_t>(TensorId::kAttention, BF16,
                                       {input.queries, input.heads, kLatent},
                                       output->out, true),
                  Dense<float>(TensorId::kLse, F32,
                               {input.queries, input.heads}, output->lse, true),
                  std::move(q), std::move(indices)};
  if (!input.lengths.empty()) {
    step.tensors.push_back(Dense<std::int32_t>(TensorId::kLengths, I32,
                                               {input.queries}, input.lengths));
  }
  if (!input.sinks.empty()) {
    step.tensors.push_back(
        Dense<float>(TensorId::kSinks, F32, {input.heads}, input.sinks));
  }
  std::string why = Run(pool);
  if (why.empty()) {
    CopyOut(observations_[0].steps[0].outputs[0], &output->out);
    CopyOut(observations_[0].steps[0].outputs[1], &output->lse);
  }
  return why;
}

}  // namespace mlafuzz::baselines
