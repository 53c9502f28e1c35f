#include "oracle/differing_part.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "oracle/damage.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// The part that byte `at` of the pool is of. Null for a byte of no row, or of a
// tail that is not rope.
const char* PartOfPool(const ComparedStep& compared, std::int64_t at) {
  if (compared.step.kernel != Kernel::kWriter) return nullptr;
  const PoolPlace place = PlaceInPool(compared.image.pool, at);
  if (place.slot < 0) return nullptr;
  const RowLayout::Part part = compared.layout.PartOf(place.byte);
  if (part == RowLayout::Part::kCodes) return "codes-only";
  if (part == RowLayout::Part::kScales) return "scales-only";
  if (part == RowLayout::Part::kPadding) return "padding-only";
  const Tensor* k_pe = compared.step.Find(TensorId::kKPe);
  return k_pe == nullptr || k_pe->shape[1] == 0 ? "tail" : "rope-only";
}

// The same of byte `at` of an output.
const char* PartOfOutput(const ComparedStep& compared, const Tensor& tensor,
                         std::int64_t at) {
  if (tensor.id == TensorId::kDstScales) return "scales-only";
  if (tensor.id != TensorId::kDst || tensor.strides[0] <= 0) return nullptr;
  const std::int64_t column = at / DTypeSize(tensor.dtype) % tensor.strides[0];
  if (column >= tensor.shape[1]) return nullptr;
  if (column < DstShapeOf(compared.contract.gather(), compared.layout).codes) {
    return "values-only";
  }
  const Step* const step = compared.step.step;
  return step != nullptr && step->gather().nope() ? "tail" : "rope-only";
}

}  // namespace

const char* OnlyPartThatDiffers(const ComparedStep& compared) {
  const char* only = nullptr;
  // False: there is none.
  const auto add = [&](const char* part) {
    if (only == nullptr) only = part;
    return part != nullptr && only == absl::string_view(part);
  };
  const absl::Span<const std::uint8_t> want = compared.wanted_pool();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] != compared.after.pool[i] &&
        !add(PartOfPool(compared, static_cast<std::int64_t>(i)))) {
      return nullptr;
    }
  }
  const auto& tensors = compared.step.tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (!tensors[t].output) continue;
    const auto& wanted = compared.expected.outputs[t];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != compared.after.outputs[t][i] &&
          !add(PartOfOutput(compared, tensors[t],
                            static_cast<std::int64_t>(i)))) {
        return nullptr;
      }
    }
  }
  return only;
}

}  // namespace mlafuzz::oracle
