#ifndef MLAFUZZ_FUZZ_WORKER_DECODE_EVIDENCE_H_
#define MLAFUZZ_FUZZ_WORKER_DECODE_EVIDENCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// Of a decode's two outputs, which `evidence` has already: what each element
// had to be (between `lowest` and `highest`; both NaN: NaN), what is wrong, and
// the picture of errors over bounds. `all_seen`: the call ended and left
// results.
void AddDecodeResults(const Contract& contract, const CaseImage& image,
                      int step, absl::Span<const std::uint8_t> pool_before,
                      const StepObservation& seen, bool all_seen,
                      Evidence& evidence);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_DECODE_EVIDENCE_H_
