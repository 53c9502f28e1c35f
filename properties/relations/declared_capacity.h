#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DECLARED_CAPACITY_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DECLARED_CAPACITY_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// A top-k declared below the buffer's width changes nothing, bit for bit, where
// the contract takes the capacity from the buffer: neither a refusal nor lanes
// dropped. Now and then on a row of 2176 lanes with 2051 candidates and 2048
// declared, as pooled top-k makes them (2048 and what an incomplete pool of 4
// leaves, rounded up to 128).
struct DeclaredCapacity {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DECLARED_CAPACITY_H_
