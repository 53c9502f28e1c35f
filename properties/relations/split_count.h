#ifndef MLAFUZZ_PROPERTIES_RELATIONS_SPLIT_COUNT_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_SPLIT_COUNT_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Another number of splits asked for: within the bounds, bit for bit where the
// blocks stay together.
struct SplitCount {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_SPLIT_COUNT_H_
