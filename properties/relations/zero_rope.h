#ifndef MLAFUZZ_PROPERTIES_RELATIONS_ZERO_ROPE_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_ZERO_ROPE_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// A row without rope (pe_dim 0, zeroed tail) is the row of an all-zero rope:
// the same 656 bytes. What lets a consumer that always reads 64 rope values
// read NoPE rows.
struct ZeroRope {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_ZERO_ROPE_H_
