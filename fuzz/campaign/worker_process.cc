#include "fuzz/campaign/worker_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/worker/engine.h"
#include "fuzz/worker/foreign.h"

namespace mlafuzz {
namespace {

// libFuzzer's own exit codes (its defaults; timeouts are ours).
constexpr int kLibFuzzerOutOfMemory = 71;

constexpr double kSilenceToAccount = 0.5;  // seconds

// The number after the last `word` in `text`; false if there is none.
bool NumberAfterLast(const std::string& text, const char* word,
                     std::uint64_t* number) {
  const std::size_t at = text.rfind(word);
  if (at == std::string::npos) return false;
  std::size_t begin = at + std::strlen(word);
  std::size_t end = begin;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  return absl::SimpleAtoi(absl::string_view(text).substr(begin, end - begin),
                          number);
}

// Sent by somebody; a fault raises none of them.
bool IsFromOutside(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGXCPU:
    case SIGUSR1:
    case SIGUSR2:
      return true;
    default:
      return false;
  }
}

// What a dying process said: a sanitizer's headline, or its last words.
std::string TellingLine(const std::string& output) {
  std::string last;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (absl::StrContains(line, "mlafuzz-worker:")) return std::string(line);
    if (absl::StrContains(line, "ERROR: AddressSanitizer")) {
      return std::string(line);
    }
    if (absl::StrContains(line, "ERROR: libFuzzer") ||
        absl::StrContains(line, "Assertion") ||
        absl::StrContains(line, "terminate called")) {
      return std::string(line);
    }
    if (!line.empty() && line[0] != '#') last = std::string(line);
  }
  return last;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    const std::string& engine, const std::string& folder,
    const std::string& name, WorkRequest request,
    const std::vector<std::string>& arguments, const WatchdogLimits& limits) {
  WatchdogLimits watchdog = limits;
  if (AnyForeign(request.targets()) || AnyForeign(request.other())) {
    // Calls have a watchdog of their own; a case makes several, and each of its
    // relations as many.
    watchdog.case_seconds =
        std::max(watchdog.case_seconds, 20 * CallSeconds(request.targets()));
    watchdog.idle_seconds =
        std::max(watchdog.idle_seconds, 2 * StartSeconds(request.targets()));
  }
  request.set_status(absl::StrCat(folder, "/status.", name));
  request.set_supervisor(getpid());
  auto status = StatusMap::Create(request.status());
  if (!status.ok()) return status.status();
  const std::string work = absl::StrCat(folder, "/work.", name);
  if (absl::Status s = WriteFileAtomically(work, request.SerializeAsString());
      !s.ok()) {
    return absl::Status(
        s.code(),
        absl::StrCat(s.message(), "; set TMPDIR to a folder with more room"));
  }
  std::vector<std::string> argv = {engine};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto process = Process::Spawn(argv, {{kWorkVariable, work}});
  if (!process.ok()) return process.status();
  return absl::WrapUnique(
      new WorkerProcess(*std::move(process), *std::move(status), watchdog));
}

WorkerState WorkerProcess::Poll() {
  if (state_ != WorkerState::kRunning) return state_;
  process_->ReadOutput();
  ReadCoverage();
  if (const auto exit = process_->Poll()) {
    state_ = Ended(*exit);
    if (state_ != WorkerState::kDone) CountCpuOfDeath();
    return state_;
  }
  const auto now = Clock::now();
  if (const std::uint64_t beat = status().heartbeat; beat != heartbeat_) {
    heartbeat_ = beat;
    last_life_ = now;
    starvation_.reset();
  }
  const double silent = std::chrono::duration<double>(now - last_life_).count();
  const bool busy = status().busy != 0;
  const double limit = busy ? limits_.case_seconds : limits_.idle_seconds;
  // No case of good behaviour pays for the account.
  if (silent > kSilenceToAccount && !starvation_.has_value()) {
    starvation_.emplace(process_->pid());
  }
  if (silent > limit &&
      (!starvation_.has_value() || starvation_->TimeHad(silent) > limit)) {
    CountCpuOfDeath();
    process_->Kill();
    reason_ = absl::StrCat("no sign of life for ", static_cast<int>(silent),
                           " s ", busy ? "in a case" : "between cases");
    return state_ = WorkerState::kHang;
  }
  const std::uint64_t resident = process_->ResidentBytes();
  if (resident > limits_.resident_bytes) {
    CountCpuOfDeath();
    process_->Kill();
    reason_ = absl::StrCat("resident memory ", resident >> 20,
                           " MiB is above the limit of ",
                           limits_.resident_bytes >> 20, " MiB");
    return state_ = WorkerState::kOutOfMemory;
  }
  return state_;
}

WorkerState WorkerProcess::Ended(const Exit& exit) {
  if (exit.signal == 0 && exit.code == kWorkerDone && status().done != 0) {
    return WorkerState::kDone;
  }
  if (IsFromOutside(exit.signal)) {
    short_of_memory_ = OomKills() > oom_kills_;
    reason_ = absl::StrCat(
        "killed by SIG", sigabbrev_np(exit.signal),
        short_of_memory_ ? " while the system was out of memory" : "");
    return WorkerState::kKilled;
  }
  const std::string line = TellingLine(process_->output());
  if (exit.signal == 0 && exit.code == kWorkerUsage) {
    const std::size_t at = line.find("mlafuzz-worker: ");
    reason_ = at == std::string::npos ? line : line.substr(at + 16);
    return WorkerState::kUsage;
  }
  if (exit.signal != 0) {
    reason_ = absl::StrCat("killed by ", strsignal(exit.signal));
  } else {
    reason_ = absl::StrCat("exited with code ", exit.code);
  }
  if (!line.empty()) absl::StrAppend(&reason_, ": ", line);
  if (exit.signal == 0 && exit.code == kLibFuzzerOutOfMemory) {
    return WorkerState::kOutOfMemory;
  }
  return WorkerState::kCrash;
}

// The case that it died in counts, which the process itself could not add.
void WorkerProcess::CountCpuOfDeath() {
  const std::uint64_t start = status().cpu_start;
  const std::uint64_t all = process_->CpuNanoseconds();
  if (start != 0 && all > start + status().cpu_nanoseconds) {
    status().cpu_nanoseconds.store(all - start);
  }
}

void WorkerProcess::ReadCoverage() {
  NumberAfterLast(process_->output(), " cov: ", &coverage_);
  NumberAfterLast(process_->output(), " corp: ", &corpus_);
}

bool WorkerProcess::DiedInCase() const { return (**status_).busy != 0; }

std::string WorkerProcess::Reason() const { return reason_; }

}  // namespace mlafuzz
