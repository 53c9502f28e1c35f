#ifndef MLAFUZZ_FUZZ_CAMPAIGN_UNEXPLAINED_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_UNEXPLAINED_H_

#include <string>
#include <vector>

#include "fuzz/campaign/findings.h"

namespace mlafuzz {

// Whether a finding says what was seen of a fault and not why: wrong bytes or
// values that no rule predicts, a relation that does not hold, a death.
// Refusals, hangs and stopped lanes speak for themselves.
bool IsUnexplained(const Finding& finding);

// Whether a finding blames a rule that more of the further cases belie than
// bear out: the kernel may keep it under a condition, or the case looks so by
// chance.
bool IsBelied(const Finding& finding);

// A fault of no known cause looks different from case to case: another part of
// the row, a guard, a death. So the unexplained findings of one kernel are
// taken for one, until a cause is found or the fault is mended. What a case
// shows alone stays rather than a relation, of equals the first; before all one
// that reads the call otherwise and so predicts every byte
// (oracle/other_reading.h), and does in most cases. What is belied
// beside them is no claim any more; what only relations show beside a claim
// that stands is taken for that fault. The others become its shapes, and are
// returned.
std::vector<Finding> JoinUnexplained(std::vector<Finding>& findings);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_UNEXPLAINED_H_
