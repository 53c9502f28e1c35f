#ifndef MLAFUZZ_PROPERTIES_CHECK_FILTER_H_
#define MLAFUZZ_PROPERTIES_CHECK_FILTER_H_

#include <vector>

#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/judge.h"

namespace mlafuzz {

// Lets a test binary weaken the harness on purpose, to see whether the gate
// that measures it notices: called with all checks of a case, those of
// relations included, before anybody sees them. Null in every other binary.
using CheckFilter = void (*)(const Contracts& contracts, const CaseImage& image,
                             const Observation& observation,
                             std::vector<Check>* checks);
void SetCheckFilter(CheckFilter filter);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_CHECK_FILTER_H_
