#ifndef MLAFUZZ_ORACLE_DECODE_OTHER_EXPECTATIONS_H_
#define MLAFUZZ_ORACLE_DECODE_OTHER_EXPECTATIONS_H_

#include <string>
#include <vector>

#include "oracle/decode/wrong_decode.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

struct OtherExpectations {
  // The first that explains the decode, with the others beside it; no key if
  // none does.
  Diagnosis cause;
  // Then: keys of those that forbid nothing of what came back and predict
  // nothing of it either, or that explain it by a NaN that they happen to read.
  std::vector<std::string> possible;
};

// Asks the neighbouring contracts, those with both scale rules or both ends of
// the scale bytes changed, and the faults of faults.h for what they would have
// left. An expectation explains what came back if every row is right for it or
// for the declared contract, and some row is right for it alone. One that every
// row fits comes before one that needs both. Where all that is wrong is NaN,
// whoever reads one NaN explains it: such rules are possible, unless a single
// one does, or a rule that leaves nothing but NaN explains it too. Slow: an
// expectation each.
OtherExpectations AskOtherExpectations(const WrongDecode& wrong);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_OTHER_EXPECTATIONS_H_
