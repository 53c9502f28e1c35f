#include <algorithm>

#include "corpus/contracts.h"
#include "oracle/bf16.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/expect.h"
#include "oracle/judge.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz {
namespace {

// Whether some dequantised value is NaN, so that its payload can be seen.
bool HasNanValue(const oracle::RowLayout& layout, const StepImage& step,
                 const Expectation& expected) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& dst = step.tensors[i];
    if (dst.id != TensorId::kDst || DTypeSize(dst.dtype) != 2) continue;
    const oracle::Storage<std::uint16_t> before(&dst);
    for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
      for (int column = 0; column < layout.codes; ++column) {
        const std::int64_t element = row * dst.strides[0] + column;
        const std::size_t at = static_cast<std::size_t>(2 * element);
        if (at + 2 > expected.outputs[i].size()) break;
        const std::uint16_t value =
            oracle::LoadBytes<std::uint16_t>(expected.outputs[i].data() + at);
        if (value == oracle::kBf16Nan && before[element] != value) return true;
      }
    }
  }
  return false;
}

bool CouldDiffer(const Neighbour& neighbour, const CaseImage& image, int step,
                 absl::Span<const std::uint8_t> pool_before,
                 const Expectation& expected) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  if (neighbour.field == "writer.zero_tokens") {
    return oracle::Length(s.Find(TensorId::kSlotMapping)) == 0;
  }
  if (neighbour.field == "gather.nan") {
    return HasNanValue(oracle::LayoutOf(image.pool.layout), s, expected);
  }
  const Expectation other =
      Expect(neighbour.contract, image, step, pool_before);
  if (other.outside_writes != expected.outside_writes) return true;
  if (!other.unsettled.empty()) return true;
  if (other.outputs != expected.outputs) return true;
  return oracle::ExpectedPool(other, pool_before) !=
         oracle::ExpectedPool(expected, pool_before);
}

// Those of the fields, or `only` one; empty: all.
std::vector<std::string> Informative(const Contract& contract,
                                     const CaseImage& image, int step,
                                     absl::Span<const std::uint8_t> pool_before,
                                     absl::string_view only) {
  std::vector<std::string> fields;
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  if (s.is_patch) return fields;
  if (s.kernel == Kernel::kDecode) {
    return InformativeDecodeFields(contract, image, step, pool_before, only);
  }
  const Expectation expected = Expect(contract, image, step, pool_before);
  for (const Neighbour& neighbour : Neighbours(contract, s.kernel)) {
    if (!only.empty() && neighbour.field != only) continue;
    if (!fields.empty() && fields.back() == neighbour.field) continue;
    if (CouldDiffer(neighbour, image, step, pool_before, expected)) {
      fields.push_back(neighbour.field);
    }
  }
  return fields;
}

}  // namespace

std::vector<std::string> InformativeFields(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before) {
  return Informative(contract, image, step, pool_before, "");
}

bool IsInformative(const Contract& contract, const CaseImage& image, int step,
                   absl::Span<const std::uint8_t> pool_before,
                   absl::string_view field) {
  return !Informative(contract, image, step, pool_before, field).empty();
}

}  // namespace mlafuzz
