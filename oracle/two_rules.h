#ifndef MLAFUZZ_ORACLE_TWO_RULES_H_
#define MLAFUZZ_ORACLE_TWO_RULES_H_

#include <array>
#include <optional>

#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/judge.h"
#include "oracle/verdict.h"

namespace mlafuzz {

// Two faults that show in one call. `why` is what Diagnose() says of the check;
// where that is a cause, of which a prediction follows, or the call did not end
// as it should, there is nothing to ask for. Else every pair of contract fields
// is asked of which each, changed alone, foretells a part of what is wrong that
// the other does not, and both parts are all. A pair explains the call if the
// contract with both changed predicts every byte that came back (of decodes,
// every value within its bound), without a byte from memory that is nobody's.
//
// Several pairs may: of each of the two the best comes first, the others are
// its `also`. None where they do not fall into two such sides (A with B, but C
// with D as well): then it is not known which two rules they are. None either
// where all that is wrong is NaN or what stood there before
// (Diagnosis::says_little).
std::optional<std::array<Diagnosis, 2>> DiagnoseTwoRules(
    const Contracts& contracts, const CaseImage& image,
    const Observation& observation, const Check& check, const Diagnosis& why);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_TWO_RULES_H_
