#include "properties/relations/wider_buffer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {

bool WiderBuffer::Applies(const Contract& contract, const CaseImage&,
                          const StepImage&) {
  return contract.decode().capacity() == DecodeContract::PHYSICAL_WIDTH &&
         contract.decode().empty_row() != DecodeContract::UNIT_WEIGHTS;
}

absl::Status WiderBuffer::Run(StepContext& context, Finding* finding) {
  const Contract& contract = context.contract();
  const std::uint32_t block =
      std::max<std::uint32_t>(contract.arithmetic().block(), 64);
  const std::int64_t more =
      1 + context.choices.Below(context.choices.OneIn(4) ? 3 * block : block);
  CaseImage image = OneStep(context);
  WidenIndices(image.steps[0], more);
  return RunAndCompare(
      context, image, {.bitwise = SamePlan(contract, OneStep(context), image)},
      absl::StrCat("with ", more, " masked lanes appended").c_str(), finding);
}

}  // namespace mlafuzz
