#ifndef MLAFUZZ_PROPERTIES_RELATIONS_CANDIDATE_PERMUTATION_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_CANDIDATE_PERMUTATION_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The candidates of a row, masked ones among them, in another order: the same
// keys in other blocks and splits. Weights that are rounded relative to a
// block's maximum, or quantised over a block, change with it, so the outputs
// agree to within what the oracle's two simulations differ by and the sum of
// both bounds; the LSE to within the sum of both bounds.
struct CandidatePermutation {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_CANDIDATE_PERMUTATION_H_
