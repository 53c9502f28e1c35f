#include "fuzz/campaign/one_shot.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

// Until it is over, or the user has had enough.
WorkerState WaitFor(WorkerProcess& worker) {
  for (;;) {
    const WorkerState state = worker.Poll();
    if (state != WorkerState::kRunning) return state;
    if (StopSignals() > 1) return WorkerState::kRunning;
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

absl::Status Cancelled() { return absl::CancelledError("stopped"); }

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

// One worker for a request whose result is one file.
template <typename Message>
absl::StatusOr<Message> RunForResult(const Engine& engine, WorkRequest request,
                                     const WatchdogLimits& limits,
                                     const char* name) {
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  request.set_out(folder->path());
  auto worker = WorkerProcess::Start(engine.path, folder->path(), "0", request,
                                     {}, limits);
  if (!worker.ok()) return worker.status();
  switch (WaitFor(**worker)) {
    case WorkerState::kDone:
      return ReadResult<Message>(absl::StrCat(folder->path(), "/", name));
    case WorkerState::kRunning:
      return Cancelled();
    case WorkerState::kUsage:
      return absl::InvalidArgumentError((*worker)->Reason());
    default:
      return absl::AbortedError((*worker)->Reason());
  }
}

}  // namespace

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(base != nullptr && *base ? base : "/tmp", "/mlafuzz.XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "cannot make a folder ", path, "; set TMPDIR to one that exists"));
  }
  return ScratchFolder(path);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

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
  while (next < runs.size()) {
    request.set_first_case(next);
    WatchdogLimits now = limits;
    if (patient) now.case_seconds *= 3;
    auto worker = WorkerProcess::Start(engine.path, folder->path(),
                                       absl::StrCat(next), request, {}, now);
    if (!worker.ok()) return worker.status();
    const WorkerState state = WaitFor(**worker);
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
    if (i > next) patient = false;
    next = i;
    if (state == WorkerState::kDone || next >= runs.size()) break;
    if (state == WorkerState::kHang && !patient) {
      patient = true;
      continue;
    }
    patient = false;
    CaseRun& run = runs[next];
    run.set_runs(1);
    run.set_failed_runs(1);
    *run.add_failures() =
        DeathFailure(VerdictOf(state), request.cases(static_cast<int>(next)),
                     kernels_under_test, (*worker)->Reason());
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

absl::StatusOr<AbResult> AbInWorker(const Engine& engine, WorkRequest request) {
  request.set_mode(WorkRequest::AB);
  WatchdogLimits limits;
  limits.idle_seconds = 600;
  return RunForResult<AbResult>(engine, std::move(request), limits,
                                "ab.result");
}

absl::StatusOr<BenchResult> BenchInWorker(const Engine& engine,
                                          WorkRequest request) {
  request.set_mode(WorkRequest::BENCH);
  WatchdogLimits limits;
  limits.idle_seconds = 600;
  return RunForResult<BenchResult>(engine, std::move(request), limits,
                                   "bench.result");
}

}  // namespace mlafuzz
