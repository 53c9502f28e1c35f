#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DUPLICATES_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DUPLICATES_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Every candidate n times: the output is that of the row once, and the LSE
// grows by log n in the contract's base. For calls without a sink, which would
// weigh less.
struct Duplicates {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DUPLICATES_H_
