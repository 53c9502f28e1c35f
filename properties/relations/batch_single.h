#ifndef MLAFUZZ_PROPERTIES_RELATIONS_BATCH_SINGLE_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_BATCH_SINGLE_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// One call on many tokens (requests, index rows) does what calls on parts of
// them do, one after another in any order: no row sees another. The parts are
// runs of rows, down to single ones where there are few.
struct BatchSingle {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_BATCH_SINGLE_H_
