#include "properties/relations/page_zero_poison.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oracle/decode/keys.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/poison.h"

namespace mlafuzz {
namespace {

// Of a cache row's address, which more than one page must keep.
constexpr std::int64_t kAlignment = 16;

}  // namespace

bool PageZeroPoison::Applies(const Contract& contract, const CaseImage& image,
                             const StepImage&) {
  const PoolImage& pool = image.pool;
  return !oracle::ReadsSlot0(contract.decode()) &&
         pool.page_stride >= pool.page_size * pool.row_stride &&
         pool.page_stride % kAlignment == 0;
}

absl::Status PageZeroPoison::Run(StepContext& context, Finding* finding) {
  CaseImage image = OneStep(context);
  PoolImage& pool = image.pool;
  const std::int64_t slots = pool.slots();
  pool.bytes.insert(pool.bytes.begin() + pool.offset,
                    static_cast<std::size_t>(pool.page_stride), 0);
  ++pool.pages;
  const Poison kind = DrawPoison(context.choices);
  Poisoner poisoner(kind, context.choices.Word());
  for (std::int64_t i = 0; i < pool.page_stride; ++i) {
    poisoner.ReplaceInPool(pool, pool.offset + i);
  }
  Tensor& indices = *image.steps[0].Find(TensorId::kIndices);
  const std::int64_t entries =
      static_cast<std::int64_t>(indices.bytes.size()) / 4;
  for (std::int64_t i = 0; i < entries; ++i) {
    const std::int32_t index = ElementAt<std::int32_t>(indices, i);
    if (index < 0 || index >= slots) continue;
    SetElement(indices, i, static_cast<std::int32_t>(index + pool.page_size));
  }
  return RunAndCompare(context, image, {.bitwise = true},
                       absl::StrCat("a page 0 of ", PoisonName(kind)).c_str(),
                       finding);
}

}  // namespace mlafuzz
