#ifndef MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_
#define MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_

#include "properties/checker.h"

namespace mlafuzz {

// Coverage for targets that are not instrumented, such as foreign libraries:
// what a case was like and how it ended, as libFuzzer's extra counters. Counts,
// for the case that was just checked,
//
//   - pairs of the value classes (corpus/knobs.h) that it exercised: scale
//     exponents, masks, widths, page geometry, lengths at dispatch thresholds;
//   - how each kernel's call ended, refusals among them;
//   - which properties had something to say, and their verdicts.
//
// libFuzzer clears the counters before each input. In this process alone: the
// target's cannot reach them.
void CountSemantics(const CaseResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_
