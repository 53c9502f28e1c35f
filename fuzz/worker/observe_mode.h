#ifndef MLAFUZZ_FUZZ_WORKER_OBSERVE_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_OBSERVE_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// OBSERVE: runs request.cases(0) once, without relations, and writes
// out/evidence.result (Evidence) of the first step that fails by
// request.cause(), else of the first that fails. A case that is right alone, or
// larger than kMostEvidenceBytes, leaves an error in it. Non-OK if the targets
// do not exist.
inline constexpr std::size_t kMostEvidenceBytes = std::size_t{32} << 20;
absl::Status ObserveCase(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_OBSERVE_MODE_H_
