#ifndef MLAFUZZ_FUZZ_WORKER_INFER_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_INFER_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// INFER: reads the contracts of request.kernels() from outside. Writes
// out/infer.result (InferResult).
absl::Status RunInfer(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_INFER_MODE_H_
