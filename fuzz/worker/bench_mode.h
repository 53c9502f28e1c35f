#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// BENCH: times loops around one-token writes, one-row gathers and decodes of 64
// keys, with more and more of a campaign's work around the kernel, and how
// decodes grow with keys and heads. Writes out/bench.result (BenchResult);
// names are "writer/kernel", "writer/stage+kernel", ...
absl::Status RunBench(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_
