#ifndef MLAFUZZ_PROPERTIES_RELATIONS_FUSED_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_FUSED_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Copies of the call laid into one (properties/fused/fused_case.h), each on a
// pool of its own: all leave what the call alone leaves. Two copies; as many as
// make a hundred rows, which is past the thresholds by which kernels choose
// between small and large batches (64 query tokens); on GPUs also 4,096 rows.
// Not drawn: what fails in a fused campaign is run again this way.
struct Fused {
  static constexpr bool kOnlyAsked = true;
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_FUSED_H_
