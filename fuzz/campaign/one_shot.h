#ifndef MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/worker_process.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// A folder for work files that goes away with this object.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create();
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs a RUN or DIFF request in worker processes. One CaseRun a case, in
// order: a case that kills its process gets a crash, hang or oom failure and
// the rest goes on in a fresh one. A hang is rerun once with thrice the time
// before it counts.
absl::StatusOr<std::vector<CaseRun>> RunInWorkers(
    const Engine& engine, WorkRequest request,
    const std::vector<std::string>& kernels_under_test,
    const WatchdogLimits& limits);

// Minimises `case_binary` in a worker, keeping `cause`.
absl::StatusOr<MinimizeResult> MinimizeInWorker(const Engine& engine,
                                                WorkRequest request,
                                                const WatchdogLimits& limits);

// Aborted if a decode took its process with it.
absl::StatusOr<AbResult> AbInWorker(const Engine& engine, WorkRequest request);

absl::StatusOr<BenchResult> BenchInWorker(const Engine& engine,
                                          WorkRequest request);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_ONE_SHOT_H_
