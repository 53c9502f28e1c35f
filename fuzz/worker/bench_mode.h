#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// BENCH: times loops around one-token writes and one-row gathers, with more
// and more of a campaign's work around the kernel. Writes out/bench.result
// (BenchResult); names are "writer/kernel", "writer/stage+kernel", ...
absl::Status RunBench(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_MODE_H_
