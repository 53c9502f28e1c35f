#ifndef MLAFUZZ_PROPERTIES_RELATIONS_SAME_RUN_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_SAME_RUN_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The call made twice in one program on one pool leaves what it left once: no
// state hides in the target, and writing a row again changes nothing.
struct RunTwice {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// Lanes and blocks in another order: bit for bit the same.
struct OtherSchedule {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// Eight runs side by side on a GPU: bit for bit the same. Hardware orders its
// blocks and warps otherwise each time.
struct Repeat {
  static constexpr bool kOnDevices = true;
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_SAME_RUN_H_
