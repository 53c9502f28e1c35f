#ifndef MLAFUZZ_PROPERTIES_RELATIONS_QUERY_LENGTH_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_QUERY_LENGTH_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// k queries of one request are k queries: the number of queries a request has
// no effect, row by row, within the bounds.
struct QueryLength {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_QUERY_LENGTH_H_
