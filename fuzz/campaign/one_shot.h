#ifndef MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/worker_process.h"
#include "fuzz/worker/evidence.pb.h"
#include "fuzz/worker/worker.pb.h"
#include "properties/infer/infer.pb.h"

namespace mlafuzz {

// Runs a RUN or DIFF request in worker processes. One CaseRun a case, in
// order: a case that kills its process gets a crash, hang or oom failure and
// the rest goes on in a fresh one. A hang is rerun once with thrice the time
// before it counts; a process that is killed from outside is started again, and
// only kKilledRuns of them in a row are the case's doing. Cancelled by a signal
// (fuzz/campaign/signals.h), or at limits.until, as all of these.
absl::StatusOr<std::vector<CaseRun>> RunInWorkers(
    const Engine& engine, WorkRequest request,
    const std::vector<std::string>& kernels_under_test,
    const WatchdogLimits& limits);

// Minimises `case_binary` in a worker, keeping `cause`.
absl::StatusOr<MinimizeResult> MinimizeInWorker(const Engine& engine,
                                                WorkRequest request,
                                                const WatchdogLimits& limits);

// Which of request.explanations() is the cause of request.cases(0). If a case
// takes the process with it, what was known before.
absl::StatusOr<SettleResult> SettleInWorker(const Engine& engine,
                                            WorkRequest request,
                                            const WatchdogLimits& limits);

// Whether the cases of request.case_log() reach and trigger the wrong kernel of
// request.targets(). A case that takes the process with it has triggered it.
absl::StatusOr<ReachResult> ReachInWorker(const Engine& engine,
                                          WorkRequest request,
                                          const WatchdogLimits& limits);

// What request.cases(0) left behind. Aborted if it takes the process with it.
absl::StatusOr<Evidence> ObserveInWorker(const Engine& engine,
                                         WorkRequest request,
                                         const WatchdogLimits& limits);

// Aborted if a decode took its process with it.
absl::StatusOr<AbResult> AbInWorker(const Engine& engine, WorkRequest request);

// Reads the contracts of request.kernels() from outside. Aborted if a kernel
// took its process with it, Cancelled at `until`.
absl::StatusOr<InferResult> InferInWorker(
    const Engine& engine, WorkRequest request,
    std::chrono::steady_clock::time_point until =
        std::chrono::steady_clock::time_point::max());

absl::StatusOr<BenchResult> BenchInWorker(const Engine& engine,
                                          WorkRequest request);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_
