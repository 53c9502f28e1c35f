#ifndef MLAFUZZ_PROPERTIES_RELATIONS_EXACT_LATTICE_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_EXACT_LATTICE_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// The case's shapes with data for which every order of every sum is exact: a
// query of zeros, so that 2^k keys weigh 1 each, and rows of small integers
// with scale 1. Then, derived without the oracle's values,
//
//   out   is the mean of integers below 256, which bf16 holds: that word
//         exactly, wherever the declared arithmetic's bound leaves one word
//         alone;
//   LSE   is k in base 2, bit for bit, where log2 of a power of two is
//         declared exact; else within its bound;
//
// whatever the order of the keys and the number of splits.
struct ExactLattice {
  static bool Applies(const Contract& contract, const CaseImage& image,
                      const StepImage& step);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_EXACT_LATTICE_H_
