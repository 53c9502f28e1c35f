#ifndef MLAFUZZ_PROPERTIES_RELATIONS_CONVEXITY_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_CONVEXITY_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// An output is a weighted mean of its row's values: no column lies outside the
// smallest and largest value of its keys (and 0, where there is a sink). The
// tolerance is the bound of the oracle for blocks that are not declared, whose
// value is the exact mean and whose bound holds any rounding of weights. Runs
// nothing.
struct Convexity {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_CONVEXITY_H_
