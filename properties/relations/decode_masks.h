#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DECODE_MASKS_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DECODE_MASKS_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// An index row with -1 appended within its last block: the same blocks, the
// same splits, the same keys; bit for bit the same result. For contracts that
// take the width from the buffer and whose block is known: the declared top-k
// stays as it is, so that it becomes, or stays, less than the width.
struct TrailingMask {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// A sink of minus infinity for every head is no sink.
struct SinkAtMinusInfinity {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DECODE_MASKS_H_
