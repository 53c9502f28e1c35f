#ifndef MLAFUZZ_PROPERTIES_RELATIONS_MASK_PLACEMENT_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_MASK_PLACEMENT_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The same keys with another number of masked lanes, in front, in the middle,
// at the back or scattered; bit for bit where SamePlan(), else within the
// bounds.
struct MaskPlacement {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// A row of masked lanes alone: every output is 0, and the LSE is what the
// contract says of an empty row, however many lanes there are.
struct AllMasked {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_MASK_PLACEMENT_H_
