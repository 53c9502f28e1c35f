#include "properties/relations/page_relabelling.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "oracle/decode/keys.h"

namespace mlafuzz {
namespace {

using Pages = std::vector<std::int64_t>;

Pages Permutation(Choices& choices, std::int64_t n) {
  Pages p(static_cast<std::size_t>(n));
  std::iota(p.begin(), p.end(), 0);
  for (std::size_t i = p.size(); i > 1; --i) {
    std::swap(p[i - 1], p[choices.Below(static_cast<std::uint32_t>(i))]);
  }
  // Never the identity.
  if (std::is_sorted(p.begin(), p.end())) std::swap(p.front(), p.back());
  return p;
}

// Page p's bytes, gap included, to where page to[p] lay.
std::vector<std::uint8_t> MovePages(const PoolImage& pool,
                                    const std::vector<std::uint8_t>& bytes,
                                    const Pages& to) {
  std::vector<std::uint8_t> moved = bytes;
  for (std::int64_t page = 0; page < pool.pages; ++page) {
    std::memcpy(moved.data() + pool.offset +
                    to[static_cast<std::size_t>(page)] * pool.page_stride,
                bytes.data() + pool.offset + page * pool.page_stride,
                static_cast<std::size_t>(pool.page_stride));
  }
  return moved;
}

template <typename T>
void MapElements(Tensor& t, const auto& map) {
  for (std::size_t at = 0; at + sizeof(T) <= t.bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, &t.bytes[at], sizeof(T));
    value = static_cast<T>(map(std::int64_t{value}));
    std::memcpy(&t.bytes[at], &value, sizeof(T));
  }
}

}  // namespace

bool PageRelabelling::Applies(const Contract& contract, const CaseImage& image,
                              const StepImage& step) {
  const PoolImage& pool = image.pool;
  // Pages that share bytes, as where rows overlap, cannot be moved apart.
  if (pool.pages < 2 || pool.page_stride < pool.page_size * pool.row_stride ||
      pool.page_stride < pool.page_bytes()) {
    return false;
  }
  // Where pages begin is what such a rule goes by.
  if (pool.split() && step.kernel == Kernel::kGather &&
      contract.gather().code_loads() == GatherContract::LOADS_FROM_BOUNDARY) {
    return false;
  }
  switch (step.kernel) {
    case Kernel::kGather:
      return contract.gather().table_row() == GatherContract::TABLE_ROW_STRIDE;
    case Kernel::kConvert:
      return contract.convert().table_row() ==
                 ConvertContract::TABLE_ROW_STRIDE &&
             contract.convert().invalid() ==
                 ConvertContract::INVALID_MINUS_ONE &&
             contract.convert().negative() == ConvertContract::ANY_NEGATIVE &&
             // A wrapped slot, or a workspace's row, may look like any other.
             contract.convert().pages() != ConvertContract::PAGES_WRAPPED &&
             step.Find(TensorId::kPrefillIds) == nullptr;
    case Kernel::kDecode:
      // Slot 0 has no meaning of its own.
      return !oracle::ReadsSlot0(contract.decode());
    default:
      return true;
  }
}

absl::Status PageRelabelling::Run(StepContext& context, Finding* finding) {
  const PoolImage& pool = context.image.pool;
  const Pages to = Permutation(context.choices, pool.pages);
  const auto map_page = [&](std::int64_t page) {
    return page >= 0 && page < pool.pages ? to[static_cast<std::size_t>(page)]
                                          : page;
  };
  const auto map_slot = [&](std::int64_t slot) {
    if (slot < 0 || slot >= pool.slots()) return slot;
    return map_page(slot / pool.page_size) * pool.page_size +
           slot % pool.page_size;
  };
  CaseImage image = OneStep(context);
  image.pool.bytes = MovePages(pool, image.pool.bytes, to);
  for (Tensor& t : image.steps[0].tensors) {
    if (t.id == TensorId::kSlotMapping) MapElements<std::int64_t>(t, map_slot);
    if (t.id == TensorId::kIndices) MapElements<std::int32_t>(t, map_slot);
    if (t.id == TensorId::kBlockTable) MapElements<std::int32_t>(t, map_page);
  }
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  if (std::string d =
          FirstPoolDifference(pool, MovePages(pool, context.pool_after(), to),
                              FinalPool(image, observation));
      !d.empty()) {
    *finding = Finding::Fail(absl::StrCat("pages relabelled: ", d));
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < context.step.tensors.size(); ++i) {
    const Tensor& t = context.step.tensors[i];
    if (!t.output) continue;
    Tensor expected = t;
    expected.bytes = context.plain.outputs[i];
    if (t.id == TensorId::kOut) {
      for (std::int64_t row = 0; row < t.shape[0]; ++row) {
        for (std::int64_t c = 0; c < t.shape[1]; ++c) {
          const std::size_t at =
              static_cast<std::size_t>(row * t.strides[0] + c) * 4;
          std::int32_t value;
          std::memcpy(&value, &expected.bytes[at], 4);
          value = static_cast<std::int32_t>(map_slot(value));
          std::memcpy(&expected.bytes[at], &value, 4);
        }
      }
    }
    if (std::string d = FirstTensorDifference(t, expected.bytes,
                                              observation.steps[0].outputs[i],
                                              AnyNan(context));
        !d.empty()) {
      *finding = Finding::Fail(absl::StrCat("pages relabelled: ", d));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
