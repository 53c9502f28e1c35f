#include "fuzz/campaign/one_shot.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

bool TimeIsUp(const WatchdogLimits& limits) {
  return std::chrono::steady_clock::now() >= limits.until;
}

// Until it is over, the time is up or a signal came.
WorkerState WaitFor(WorkerProcess& worker, const WatchdogLimits& limits) {
  for (;;) {
    const WorkerState state = worker.Poll();
    if (state != WorkerState::kRunning) return state;
    if (StopSignals() > 0 || TimeIsUp(limits)) return WorkerState::kRunning;
    usleep(2000);
  }
}

const char* VerdictOf(WorkerState state) {
  switch (state) {
    case WorkerState::kHang:
      return "hang";
    case WorkerState::kOutOfMemory:
      return "oom";
    default:
      return "crash";
  }
}

absl::Status Cancelled() {
  return absl::CancelledError(StopSignals() > 0 ? "stopped by a signal"
                                                : "the time was up");
}

template <typename Message>
absl::StatusOr<Message> ReadResult(const std::string& path) {
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  Message message;
  if (!message.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat(path, ": no result"));
  }
  return message;
}

// One worker for a request whose result is one file. `partial`: it is written
// as the work goes on, and what there is when the process dies is the result.
template <typename Message>
absl::StatusOr<Message> RunForResult(const Engine& engine, WorkRequest request,
                                     const WatchdogLimits& limits,
                                     const char* name, bool partial = false) {
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  request.set_out(folder->path());
  for (int run = 1;; ++run) {
    auto worker = WorkerProcess::Start(engine.path, folder->path(),
                                       absl::StrCat(run), request, {}, limits);
    if (!worker.ok()) return worker.status();
    switch (WaitFor(**worker, limits)) {
      case WorkerState::kDone:
        return ReadResult<Message>(absl::StrCat(folder->path(), "/", name));
      case WorkerState::kRunning:
        return Cancelled();
      case WorkerState::kUsage:
        return absl::InvalidArgumentError((*worker)->Reason());
      case WorkerState::kKilled:
        if (run < kKilledRuns) continue;
        [[fallthrough]];
      default:
        if (partial) {
          auto result =
              ReadResult<Message>(absl::StrCat(folder->path(), "/", name));
          if (result.ok()) return result;
        }
        return absl::AbortedError((*worker)->Reason());
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<CaseRun>> RunInWorkers(
    const Engine& engine, WorkRequest request,
    const std::vector<std::string>& kernels_under_test,
    const WatchdogLimits& limits) {
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  request.set_out(folder->path());
  std::vector<CaseRun> runs(static_cast<std::size_t>(request.cases_size()));
  std::uint32_t next = 0;
  bool patient = false;  // a hang is being rerun
  int killed = 0;        // times in a row, with this case
  bool short_of_memory = false;
  while (next < runs.size()) {
    request.set_first_case(next);
    WatchdogLimits now = limits;
    if (patient) now.case_seconds *= 3;
    auto worker = WorkerProcess::Start(engine.path, folder->path(),
                                       absl::StrCat(next), request, {}, now);
    if (!worker.ok()) return worker.status();
    const WorkerState state = WaitFor(**worker, limits);
    if (state == WorkerState::kRunning) return Cancelled();
    if (state == WorkerState::kUsage) {
      return absl::InvalidArgumentError((*worker)->Reason());
    }
    // What it finished.
    std::uint32_t i = next;
    for (; i < runs.size(); ++i) {
      auto run =
          ReadResult<CaseRun>(absl::StrCat(folder->path(), "/", i, ".run"));
      if (!run.ok()) break;
      runs[i] = *std::move(run);
    }
    if (i > next) {
      patient = false;
      killed = 0;
      short_of_memory = false;
    }
    next = i;
    if (state == WorkerState::kDone || next >= runs.size()) break;
    if (state == WorkerState::kHang && !patient && limits.patient) {
      patient = true;
      continue;
    }
    patient = false;
    std::string reason = (*worker)->Reason();
    const char* verdict = VerdictOf(state);
    if (state == WorkerState::kKilled) {
      short_of_memory |= (*worker)->ShortOfMemory();
      if (++killed < kKilledRuns) continue;
      // That is no coincidence any more.
      if (short_of_memory) verdict = "oom";
      absl::StrAppend(&reason, ": in each of ", killed, " fresh processes");
    }
    killed = 0;
    short_of_memory = false;
    CaseRun& run = runs[next];
    run.set_runs(1);
    run.set_failed_runs(1);
    *run.add_failures() =
        DeathFailure(verdict, request.cases(static_cast<int>(next)),
                     kernels_under_test, reason);
    if (request.cause().empty() || request.cause() == run.failures(0).key()) {
      run.set_same_failures(1);
    }
    ++next;
  }
  return runs;
}

absl::StatusOr<MinimizeResult> MinimizeInWorker(const Engine& engine,
                                                WorkRequest request,
                                                const WatchdogLimits& limits) {
  request.set_mode(WorkRequest::MINIMIZE);
  return RunForResult<MinimizeResult>(engine, std::move(request), limits,
                                      "minimize.result");
}

absl::StatusOr<SettleResult> SettleInWorker(const Engine& engine,
                                            WorkRequest request,
                                            const WatchdogLimits& limits) {
  request.set_mode(WorkRequest::SETTLE);
  return RunForResult<SettleResult>(engine, std::move(request), limits,
                                    "settle.result", /*partial=*/true);
}

absl::StatusOr<ReachResult> ReachInWorker(const Engine& engine,
                                          WorkRequest request,
                                          const WatchdogLimits& limits) {
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  request.set_mode(WorkRequest::REACH);
  request.set_out(folder->path());
  for (int run = 1;; ++run) {
    auto worker = WorkerProcess::Start(engine.path, folder->path(),
                                       absl::StrCat(run), request, {}, limits);
    if (!worker.ok()) return worker.status();
    const WorkerState state = WaitFor(**worker, limits);
    if (state == WorkerState::kRunning) return Cancelled();
    if (state == WorkerState::kUsage) {
      return absl::InvalidArgumentError((*worker)->Reason());
    }
    if (state == WorkerState::kKilled && run < kKilledRuns) continue;
    auto result =
        ReadResult<ReachResult>(absl::StrCat(folder->path(), "/reach.result"));
    if (state == WorkerState::kDone) return result;
    if (!(*worker)->DiedInCase()) {
      return absl::AbortedError((*worker)->Reason());
    }
    ReachResult died = result.ok() ? *std::move(result) : ReachResult();
    died.set_reached(true);
    died.set_triggered(true);
    return died;
  }
}

absl::StatusOr<Evidence> ObserveInWorker(const Engine& engine,
                                         WorkRequest request,
                                         const WatchdogLimits& limits) {
  request.set_mode(WorkRequest::OBSERVE);
  return RunForResult<Evidence>(engine, std::move(request), limits,
                                "evidence.result");
}

absl::StatusOr<AbResult> AbInWorker(const Engine& engine, WorkRequest request) {
  request.set_mode(WorkRequest::AB);
  WatchdogLimits limits;
  limits.idle_seconds = 600;
  return RunForResult<AbResult>(engine, std::move(request), limits,
                                "ab.result");
}

absl::StatusOr<InferResult> InferInWorker(
    const Engine& engine, WorkRequest request,
    std::chrono::steady_clock::time_point until) {
  request.set_mode(WorkRequest::INFER);
  WatchdogLimits limits;
  limits.until = until;
  // Of a look before a campaign nobody wants to wait for a kernel that hangs.
  limits.idle_seconds = request.brief() ? 10 : 600;
  return RunForResult<InferResult>(engine, std::move(request), limits,
                                   "infer.result");
}

absl::StatusOr<BenchResult> BenchInWorker(const Engine& engine,
                                          WorkRequest request) {
  request.set_mode(WorkRequest::BENCH);
  WatchdogLimits limits;
  limits.idle_seconds = 600;
  // Calls of 65,536 cases, and what a GPU copies from.
  limits.resident_bytes = std::uint64_t{8} << 30;
  return RunForResult<BenchResult>(engine, std::move(request), limits,
                                   "bench.result");
}

}  // namespace mlafuzz
