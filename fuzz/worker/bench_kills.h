#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_KILLS_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_KILLS_H_

#include <functional>

#include "absl/status/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// How soon a fixed set of wrong kernels is found on the GPU of `targets`: four
// of each kernel, spread evenly over those of the ledger that a result gives
// away. By cases that have a call each, in batches of 64, and by turns of 256
// that share calls. From the same seeds, without relations; a runner is up
// before the clock starts.
absl::Status BenchKills(const Targets& targets,
                        const std::function<void()>& progress,
                        BenchResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_KILLS_H_
