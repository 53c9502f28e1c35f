#ifndef MLAFUZZ_ORACLE_CALL_WORDS_H_
#define MLAFUZZ_ORACLE_CALL_WORDS_H_

#include <string>

#include "corpus/observation.h"
#include "oracle/step_validity.h"

namespace mlafuzz::oracle {

// "call: invalid by writer.pe_dim (pe_dim 32 is not one of {64, 0}), ended
// refused: ...", a line.
std::string CallWords(const StepValidity& validity,
                      const StepObservation& observed);

// Whether what a call left is compared with an expectation: it ended well and
// its contract says what it must leave.
bool IsCompared(const StepValidity& validity, const StepObservation& observed);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_CALL_WORDS_H_
