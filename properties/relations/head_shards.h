#ifndef MLAFUZZ_PROPERTIES_RELATIONS_HEAD_SHARDS_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_HEAD_SHARDS_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// Two calls on some heads each are one call on all of them, as tensor
// parallelism has it. Within the bounds: a kernel may form its sums in another
// order for another number of heads (FlashMLA does).
struct HeadShards {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_HEAD_SHARDS_H_
