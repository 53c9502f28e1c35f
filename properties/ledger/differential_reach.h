#ifndef MLAFUZZ_PROPERTIES_LEDGER_DIFFERENTIAL_REACH_H_
#define MLAFUZZ_PROPERTIES_LEDGER_DIFFERENTIAL_REACH_H_

#include "absl/status/statusor.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {

// What ReachOf() says, for wrong kernels that follow no contract: of writer,
// gather and index conversion, whose results are exact, by what they left
// behind. For a case of valid, boundary and invalid steps under
// BuiltinContract(). `right` is what builtin left behind, `wrong` what
// entry.target did, both of `image`.
//
//   reached    a step called a wrong kernel, which did not refuse it unless
//              builtin takes it.
//   triggered  they differ: in how a step ended, in a byte of pool, outputs,
//              inputs or guards. The first step that differs is one of a wrong
//              kernel's; in later ones both differ in what they started from.
//   foreign    a sanitizer saw the wrong kernel outside of its memory.
Reach ReachByDifference(const LedgerEntry& entry, const CaseImage& image,
                        const Observation& right, const Observation& wrong);

// The same, of runs of its own. A wrong kernel that keeps something from call
// to call is in another state here than in the run that was judged: take
// ReachByDifference() of that one.
absl::StatusOr<Reach> DifferentialReach(const LedgerEntry& entry,
                                        const CaseImage& image, Executor& right,
                                        Executor& wrong);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_LEDGER_DIFFERENTIAL_REACH_H_
