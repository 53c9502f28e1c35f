#ifndef MLAFUZZ_PROPERTIES_RELATIONS_TILE_ALGEBRA_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_TILE_ALGEBRA_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// What a writer owes a tile of 128 values that share one scale. Each changes
// the tiles of all stored rows and predicts the row's new bytes from its old
// ones; tiles to which the rule says nothing keep their values.

// Values permuted within a tile: codes permuted alike, scale as it was.
struct TilePermutation {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// All signs flipped: signs of the codes flip, nothing else. Not for tiles with
// NaN or Inf (their codes have no sign of their own), nor where the contract
// drops the sign of zero.
struct Negation {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

// All values times 2^k, none of them leaving the normal range of its format:
// codes as they were, scale times 2^k. Not where a floor holds the scale.
struct PowerOfTwoScaling {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_TILE_ALGEBRA_H_
