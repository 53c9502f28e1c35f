#ifndef MLAFUZZ_FUZZ_WORKER_AB_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_AB_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// AB: runs each decode of request.ab() on the cache of each spread. Writes
// out/ab.result (AbResult).
absl::Status RunAb(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_AB_MODE_H_
