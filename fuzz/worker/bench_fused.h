#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_

#include <functional>

#include "absl/status/status.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/worker.pb.h"
#include "kernels/foreign/executor.h"

namespace mlafuzz {

// Times calls that 1, 16, 256, 4,096 and 65,536 cases share, of each kernel
// that the targets have, judged on all processors: where the time goes, stage
// by stage. `executor` is the session's. `seconds`: for each figure.
absl::Status BenchFused(Session& session, ForeignExecutor& executor,
                        double seconds, const std::function<void()>& progress,
                        BenchResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_
