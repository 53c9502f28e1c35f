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
//   - which properties had something to say, and their verdicts;
//   - how much of its bound the error of a decode's LSE took (BoundBucket).
//
// libFuzzer clears the counters before each input. In this process alone: the
// target's cannot reach them.
void CountSemantics(const CaseResult& result);

// Check::of_bound by powers of two: 0 for up to 2^-8 and for none, 8 for the
// last half of the bound, 9 for beyond it.
int BoundBucket(double of_bound);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_
