#include "oracle/decode/observed_rows.h"

#include <vector>

#include "oracle/bf16.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// The observed bytes of one output; its old ones if it was not changed.
absl::Span<const std::uint8_t> AfterBytes(const StepImage& step,
                                          const StepObservation& observed,
                                          TensorId id, bool* well_formed) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    if (tensor.id != id) continue;
    if (observed.outputs.empty()) return tensor.bytes;
    if (observed.outputs.size() != step.tensors.size()) break;
    if (observed.outputs[i].empty()) return tensor.bytes;
    if (observed.outputs[i].size() != tensor.bytes.size()) break;
    return observed.outputs[i];
  }
  *well_formed = false;
  return {};
}

// Changed bytes of `tensor` that `owned` does not mark.
std::int64_t ChangedOutside(const Tensor& tensor,
                            absl::Span<const std::uint8_t> after,
                            const std::vector<char>& owned) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] != tensor.bytes[i] && owned[i] == 0) ++count;
  }
  return count;
}

}  // namespace

ObservedRows::ObservedRows(const StepImage& step,
                           const StepObservation& observed)
    : out_(*step.Find(TensorId::kAttention)),
      lse_(*step.Find(TensorId::kLse)),
      out_bytes_(
          AfterBytes(step, observed, TensorId::kAttention, &well_formed_)),
      lse_bytes_(AfterBytes(step, observed, TensorId::kLse, &well_formed_)) {}

std::int64_t ObservedRows::OutAt(std::int64_t row, int column) const {
  const std::int64_t heads = out_.shape[1];
  return 2 * (row / heads * out_.strides[0] + row % heads * out_.strides[1] +
              column * out_.strides[2]);
}

std::int64_t ObservedRows::LseAt(std::int64_t row) const {
  const std::int64_t heads = out_.shape[1];
  return 4 * (row / heads * lse_.strides[0] + row % heads * lse_.strides[1]);
}

std::uint16_t ObservedRows::Out(std::int64_t row, int column) const {
  return LoadBytes<std::uint16_t>(out_bytes_.data() + OutAt(row, column));
}

float ObservedRows::Lse(std::int64_t row) const {
  return LoadBytes<float>(lse_bytes_.data() + LseAt(row));
}

std::int64_t ObservedRows::StrayGapBytes() const {
  const std::int64_t rows = out_.shape[0] * out_.shape[1];
  const auto dense = [](const Tensor& t, std::int64_t elements) {
    return static_cast<std::int64_t>(t.bytes.size()) ==
           elements * DTypeSize(t.dtype);
  };
  if (dense(out_, rows * kDecodeColumns) && dense(lse_, rows)) return 0;
  std::vector<char> out(out_bytes_.size(), 0), lse(lse_bytes_.size(), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (int i = 0; i < 4; ++i) lse[LseAt(row) + i] = 1;
    for (int c = 0; c < kDecodeColumns; ++c) {
      out[OutAt(row, c)] = out[OutAt(row, c) + 1] = 1;
    }
  }
  return ChangedOutside(out_, out_bytes_, out) +
         ChangedOutside(lse_, lse_bytes_, lse);
}

bool ObservedRows::Untouched() const {
  return out_bytes_ == absl::MakeConstSpan(out_.bytes) &&
         lse_bytes_ == absl::MakeConstSpan(lse_.bytes);
}

int ObservedRows::WrongColumn(const DecodeExpectation& expected,
                              std::int64_t row) const {
  for (int c = 0; c < kDecodeColumns; ++c) {
    if (!DecodeOutMatches(expected, row * kDecodeColumns + c, Out(row, c))) {
      return c;
    }
  }
  return -1;
}

bool ObservedRows::LseMatches(const DecodeExpectation& expected,
                              std::int64_t row) const {
  return DecodeLseMatches(expected, row, Lse(row));
}

bool ObservedRows::RowMatches(const DecodeExpectation& expected,
                              std::int64_t row) const {
  return LseMatches(expected, row) && WrongColumn(expected, row) < 0;
}

std::vector<bool> ObservedRows::Matching(
    const DecodeExpectation& expected) const {
  std::vector<bool> matching;
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    for (int c = 0; c < kDecodeColumns; ++c) {
      matching.push_back(
          DecodeOutMatches(expected, row * kDecodeColumns + c, Out(row, c)));
    }
    matching.push_back(LseMatches(expected, row));
  }
  return matching;
}

bool ObservedRows::AllNan(std::int64_t row) const {
  for (int c = 0; c < kDecodeColumns; ++c) {
    if (!IsBf16Nan(Out(row, c))) return false;
  }
  return true;
}

bool ObservedRows::AllZero(std::int64_t row) const {
  for (int c = 0; c < kDecodeColumns; ++c) {
    if ((Out(row, c) & 0x7fff) != 0) return false;
  }
  return true;
}

}  // namespace mlafuzz::oracle
