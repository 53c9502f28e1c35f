#ifndef MLAFUZZ_PROPERTIES_RELATIONS_WIDER_BUFFER_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_WIDER_BUFFER_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The index buffer up to three blocks wider, the new lanes masked: the same
// result, bit for bit where SamePlan() (the new blocks belong to the same split
// and have no keys), else within the bounds. For contracts that take the
// capacity from the buffer: the declared top-k stays as it is, so refusing the
// width breaks it as well.
struct WiderBuffer {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_WIDER_BUFFER_H_
