#include "properties/relations/split_count.h"

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {

bool SplitCount::Applies(const Contract&, const CaseImage&,
                         const StepImage& step) {
  return step.Find(TensorId::kIndices)->shape[1] > 0;
}

absl::Status SplitCount::Run(StepContext& context, Finding* finding) {
  Decode* call;
  const CaseImage image = OneDecode(context, &call);
  const std::uint32_t asked = call->splits();
  // The kernel's own choice is 0; more splits than blocks are allowed.
  const std::uint32_t other = (asked + 1 + context.choices.Below(4)) % 5;
  call->set_splits(other);
  return RunAndCompare(
      context, image,
      {.bitwise = SamePlan(context.contract(), OneStep(context), image)},
      absl::StrCat(other, " splits asked for instead of ", asked).c_str(),
      finding);
}

}  // namespace mlafuzz
