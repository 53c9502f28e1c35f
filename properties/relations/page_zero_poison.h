#ifndef MLAFUZZ_PROPERTIES_RELATIONS_PAGE_ZERO_POISON_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_PAGE_ZERO_POISON_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The pool moved one page up, and the free page 0 filled with what must not
// matter (NaN, Inf, 0xff, anything): bit for bit the same. Slot 0, and every
// row of the page that an index of -1 could be taken to mean, is then nobody's
// key.
struct PageZeroPoison {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_PAGE_ZERO_POISON_H_
