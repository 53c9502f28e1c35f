#ifndef MLAFUZZ_FUZZ_WORKER_RUN_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_RUN_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// RUN: each case of the request `repeat` times with every relation. Writes
// out/N.run (CaseRun) as it goes, so that a case that kills the process takes
// only itself with it. Non-OK if the targets do not exist.
absl::Status RunCases(const WorkRequest& request, WorkerStatus& status);

// DIFF: the same with two targets.
absl::Status DiffCases(const WorkRequest& request, WorkerStatus& status);

// MINIMIZE: writes out/minimize.result (MinimizeResult).
absl::Status MinimizeCase(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_RUN_MODE_H_
