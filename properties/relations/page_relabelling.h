#ifndef MLAFUZZ_PROPERTIES_RELATIONS_PAGE_RELABELLING_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_PAGE_RELABELLING_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Which page of the pool holds which rows is the caller's choice: pages moved
// about, with slots and block tables told so, give the same rows (writer), the
// same values (gather) and slots that are relabelled alike (convert).
struct PageRelabelling {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_PAGE_RELABELLING_H_
