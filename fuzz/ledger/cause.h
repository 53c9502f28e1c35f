#ifndef MLAFUZZ_FUZZ_LEDGER_CAUSE_H_
#define MLAFUZZ_FUZZ_LEDGER_CAUSE_H_

#include <vector>

#include "fuzz/worker/worker.pb.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {

// How far what a user reads of a finding is what the ledger knows of the fault.
enum class CauseVerdict {
  kRight,    // kernel, property and the one cause are the ledger's
  kUnknown,  // nothing is claimed, or several causes and the ledger's is one
  kWrong,    // another kernel is blamed, or a cause claimed that it is not
};
const char* CauseName(CauseVerdict verdict);  // "right", "unknown", "wrong"

// Of a finding whose cause was settled:
//
//   1. one that blames a kernel which is not wrong is wrong;
//   2. its causes are `key` and `also`. One is the ledger's if it names its
//      field (in any order of '+') with its value, or its fault's name;
//   3. if the only cause is the ledger's, and the property is: right;
//   4. if the ledger's is among several: unknown, as is a right cause that an
//      unforeseen property shows;
//   5. else wrong if any cause is a claim: a contract field, or a fault with a
//      name from which a prediction follows (CanBeRuledOut of oracle/judge.h).
//      "Nothing was written" and "refused" only repeat what is seen. A claim
//      that is said to hold in some calls only (conditional): unknown;
//   6. else right if the ledger has no name for the fault and the property is
//      its own, and unknown if it has one.
CauseVerdict CauseOf(const LedgerEntry& entry, const Failure& failure);

// Of several seeds, those that found it: wrong if any is, for one wrong claim
// in many is what a user must not read; else right if more than half are, as
// with what is killed; else unknown.
CauseVerdict CauseOverSeeds(const std::vector<CauseVerdict>& verdicts);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_CAUSE_H_
