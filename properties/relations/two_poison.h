#ifndef MLAFUZZ_PROPERTIES_RELATIONS_TWO_POISON_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_TWO_POISON_H_

#include "properties/relations/step_relation.h"

namespace mlafuzz {

// What a call may not read may hold anything. Everything outside the declared
// read set is replaced by other bytes (of one kind a run: NaN, Inf, 0xff,
// anything), and nothing that the call writes may
// change, bit for bit:
//
//   pool     bytes outside the oracle's PoolReadSet (a writer's: all of them)
//   sources  gaps between rows, rows past the slots, rows of skipped slots
//   table    entries that no request needs, what lies between its rows
//   indices  gaps between rows
//   outputs  what they held before the call
//   bases    other addresses, equally aligned
//
// A byte that the call leaves alone keeps its own poison in either run.
struct TwoPoison {
  static bool Applies(const Contract&, const CaseImage&, const StepImage&);
  static absl::Status Run(StepContext& context, Finding* finding);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_TWO_POISON_H_
