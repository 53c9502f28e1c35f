#include "properties/relations/declared_capacity.h"

#include "absl/strings/str_cat.h"
#include "oracle/decode/keys.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

// Top-k 2048 of tokens in pools of 4, the last of which may be incomplete.
constexpr std::uint32_t kTopK = 2048;
constexpr std::size_t kCandidates = 2051;
constexpr std::size_t kWidth = 2176;

// A row as wide as pooled top-k makes it, of the keys of query 0 again and
// again; false if it has none.
bool PooledRow(const StepContext& context, CaseImage* image) {
  const oracle::KeyPlan plan = oracle::PlanKeys(
      context.contract(), context.image.pool, context.step, 0, {});
  // Of the first cache.
  std::vector<std::int64_t> slots;
  for (const oracle::Key& key : plan.keys) {
    if (!key.extra) slots.push_back(key.slot);
  }
  if (slots.empty()) return false;
  Lanes row(kWidth, -1);
  for (std::size_t i = 0; i < kCandidates; ++i) {
    row[i] = static_cast<std::int32_t>(slots[i % slots.size()]);
  }
  const Step* call = image->steps[0].step;
  image->steps[0] = HeadsOf(QueryOf(context.step, 0), 0, 1);
  image->steps[0].step = call;
  SetRows(image->steps[0], {row});
  return true;
}

}  // namespace

bool DeclaredCapacity::Applies(const Contract& contract, const CaseImage&,
                               const StepImage& step) {
  return contract.decode().capacity() == DecodeContract::PHYSICAL_WIDTH &&
         step.Find(TensorId::kIndices)->shape[1] > 1 &&
         step.Find(TensorId::kQ)->shape[0] > 0;
}

absl::Status DeclaredCapacity::Run(StepContext& context, Finding* finding) {
  Decode* free;
  Decode* bound;
  std::vector<CaseImage> images = {OneDecode(context, &free),
                                   OneDecode(context, &bound)};
  std::uint32_t width = static_cast<std::uint32_t>(
      context.step.Find(TensorId::kIndices)->shape[1]);
  std::uint32_t declared =
      context.choices.Pick<std::uint32_t>({1, width / 2, width - 1, width - 1});
  if (context.choices.OneIn(16) && PooledRow(context, &images[0]) &&
      PooledRow(context, &images[1])) {
    declared = kTopK;
    width = kWidth;
  }
  free->set_declared_topk(width);
  bound->set_declared_topk(declared);
  std::vector<Observation> observations;
  const std::string what =
      absl::StrCat("top-k ", declared, " declared for ", width, " lanes: ");
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok()) {
    return s;
  }
  if (finding->ok()) {
    *finding =
        Compare(context.contract(), {images[0], observations[0].steps[0]},
                {images[1], observations[1].steps[0]}, {.bitwise = true});
  }
  if (!finding->ok()) finding->detail = absl::StrCat(what, finding->detail);
  return absl::OkStatus();
}

}  // namespace mlafuzz
