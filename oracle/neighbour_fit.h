#ifndef MLAFUZZ_ORACLE_NEIGHBOUR_FIT_H_
#define MLAFUZZ_ORACLE_NEIGHBOUR_FIT_H_

#include "corpus/contracts.h"
#include "oracle/expect.h"
#include "oracle/wrong_step.h"

namespace mlafuzz::oracle {

// What a contract with one other rule says of a step that the declared one
// forbids; the best first.
enum class Fit {
  kExact,      // predicts every byte
  kUnsettled,  // predicts every byte that does not depend on foreign memory
  kOutside,    // predicts the pool, and rows outside of it were hit
  kPossible,   // forbids nothing that was seen, and predicts nothing of it
  kNone,
};

// Slow: an expectation.
Fit FitOf(const Neighbour& neighbour, const WrongStep& wrong);

// Whether the rule takes anything from memory outside of the tensors. `other`:
// what the neighbour expects.
bool ReadsForeign(const Neighbour& neighbour, const Expectation& other);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_NEIGHBOUR_FIT_H_
