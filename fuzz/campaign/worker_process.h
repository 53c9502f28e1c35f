#ifndef MLAFUZZ_FUZZ_CAMPAIGN_WORKER_PROCESS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_WORKER_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/oom_kills.h"
#include "fuzz/campaign/process.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"
#include "kernels/foreign/starvation.h"

namespace mlafuzz {

// When a worker counts as hung or too large. Seconds are those in which it
// could have run: on a machine that others load it is given more.
struct WatchdogLimits {
  // Seconds one case may take. A small case is meant to take 5 ms; the host
  // runtime gives up on a lane loop that synchronises after about 5 s.
  double case_seconds = 10;
  // Whether a hang is run once more, with thrice the time, before it counts.
  bool patient = true;
  // Seconds outside of any case without a sign of life: mutating, loading.
  double idle_seconds = 60;
  std::uint64_t resident_bytes = std::uint64_t{2} << 30;
  // When whoever waits for a worker gives it up, finished or not.
  std::chrono::steady_clock::time_point until =
      std::chrono::steady_clock::time_point::max();
};

enum class WorkerState {
  kRunning,
  kDone,   // ended on its own terms
  kUsage,  // refused the request; see Reason()
  kCrash,  // died; the case that ran is CurrentCase()
  kHang,   // killed by the watchdog
  kOutOfMemory,
  // Killed by a signal that no fault raises (SIGKILL, SIGTERM, ...): a user, a
  // batch system, the kernel short of memory. The case is as likely innocent:
  // run it again, alone, before any verdict.
  kKilled,
};

// Runs of a case in fresh processes after which it is the case itself that has
// them killed.
inline constexpr int kKilledRuns = 3;

// An engine process at work on one request, under a watchdog.
class WorkerProcess {
 public:
  // Writes the request to `folder`/work.NAME and starts `engine` on it with
  // `arguments` (libFuzzer's). `request.status` is filled in.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(
      const std::string& engine, const std::string& folder,
      const std::string& name, WorkRequest request,
      const std::vector<std::string>& arguments, const WatchdogLimits& limits);

  // Looks after it; call every few ten milliseconds.
  WorkerState Poll();
  // Asks it to end after the current case.
  void Stop() { (**status_).stop.store(1); }

  WorkerStatus& status() { return **status_; }
  // Whether it died while a case ran (else: between cases).
  bool DiedInCase() const;
  std::string CurrentCase() const { return (**status_).CurrentCase(); }
  // One line: how it died, with the first telling line of its output.
  std::string Reason() const;
  // kKilled: the kernel has been killing for want of memory meanwhile.
  bool ShortOfMemory() const { return short_of_memory_; }
  // libFuzzer's "cov: N", 0 before its first line.
  std::uint64_t coverage() const { return coverage_; }
  std::uint64_t corpus() const { return corpus_; }

 private:
  using Clock = std::chrono::steady_clock;
  WorkerProcess(std::unique_ptr<Process> process,
                std::unique_ptr<StatusMap> status, const WatchdogLimits& limits)
      : process_(std::move(process)),
        status_(std::move(status)),
        limits_(limits),
        last_life_(Clock::now()),
        oom_kills_(OomKills()) {}
  WorkerState Ended(const Exit& exit);
  void CountCpuOfDeath();
  void ReadCoverage();

  std::unique_ptr<Process> process_;
  std::unique_ptr<StatusMap> status_;
  WatchdogLimits limits_;
  Clock::time_point last_life_;
  std::optional<Starvation> starvation_;  // in a longer silence
  std::uint64_t heartbeat_ = 0;
  std::uint64_t coverage_ = 0;
  std::uint64_t corpus_ = 0;
  WorkerState state_ = WorkerState::kRunning;
  std::string reason_;
  std::uint64_t oom_kills_;  // before it started
  bool short_of_memory_ = false;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_WORKER_PROCESS_H_
