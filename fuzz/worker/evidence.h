#ifndef MLAFUZZ_FUZZ_WORKER_EVIDENCE_H_
#define MLAFUZZ_FUZZ_WORKER_EVIDENCE_H_

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// Runs of columns of a decode's output that Evidence.heat has one value for.
inline constexpr int kHeatBins = 64;

// What `step` was given, had to leave behind under `contract` and left behind,
// from the pool as it was observed before it. Not of a patch. Contracts that
// leave a NaN's payload open, and memory that is nobody's, are `open`.
Evidence EvidenceOf(const Contract& contract, const CaseImage& image,
                    const Observation& observation, int step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_EVIDENCE_H_
