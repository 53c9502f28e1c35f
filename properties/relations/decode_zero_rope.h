#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DECODE_ZERO_ROPE_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DECODE_ZERO_ROPE_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// A query whose rope columns are 0 is one without: on rows with a finite tail,
// whatever it is. For contracts that take both and ignore the tail without
// rope. Within the bounds: the order of a sum over 576 columns need not be that
// over 512.
struct DecodeZeroRope {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DECODE_ZERO_ROPE_H_
