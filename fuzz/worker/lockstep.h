#ifndef MLAFUZZ_FUZZ_WORKER_LOCKSTEP_H_
#define MLAFUZZ_FUZZ_WORKER_LOCKSTEP_H_

#include <string>

#include "absl/status/statusor.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {

// The decode of step `index` of a case on two targets, stage by stage: scores,
// maxima, weights, sums, accumulators, the splits' LSE, output and LSE. A table
// of how many numbers of each stage differ and how far, and before it which
// stage is the first, and where. Step `index` starts from the pool that `plain`
// observed. Both targets must be decodes of kernels/decode, on either backend:
// FailedPrecondition, naming it, for one that leaves no trace.
absl::StatusOr<std::string> Lockstep(Session& a, Session& b,
                                     const CaseImage& image,
                                     const Observation& plain, int index);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_LOCKSTEP_H_
