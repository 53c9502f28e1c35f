// mlafuzz minimize

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/minimize_death.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/outcome.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/layouts.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/minimize_log.h"

namespace mlafuzz {
namespace {

// Fresh processes in which a case is run to see how reliably it fails.
constexpr int kRuns = 5;
// Of tries that may hang.
constexpr double kHangSeconds = 2;

void ShowProgress(const MinimizeState& state) {
  std::fprintf(stderr, "%d tries, %d since the last success, %d bytes\n",
               static_cast<int>(state.tries),
               static_cast<int>(state.since_success),
               static_cast<int>(state.bytes));
}

// Says every few seconds what a log holds, while this object lives.
class LogWatch {
 public:
  explicit LogWatch(const std::string& path)
      : thread_([this, path] {
          constexpr int kSteps = 40;  // of 50 ms
          for (int step = 1; !done_.load(); ++step) {
            usleep(50000);
            if (step % kSteps == 0) ShowProgress(ReadMinimizeState(path));
          }
        }) {}
  ~LogWatch() {
    done_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// How a case fails, and in how many of its runs.
struct Reliability {
  Failure failure;
  int failed = 0;
  int runs = 0;
  bool informative = false;  // some check passed, and could have failed
  std::string not_judged;    // why not any call was; empty: some were
  // Causes of the other failing runs.
  std::vector<std::string> others;
};

bool IsDeath(const Failure& failure) {
  return failure.verdict() == "crash" || failure.verdict() == "hang" ||
         failure.verdict() == "oom";
}

// The failure by which most of the failing runs may be explained; of several
// the first. A flaky case that once failed otherwise is not minimised for that.
const Failure& MostSeen(const std::vector<CaseRun>& failing) {
  const Failure* best = nullptr;
  int most = 0;
  for (const CaseRun& run : failing) {
    for (const Failure& failure : run.failures()) {
      int seen = 0;
      for (const CaseRun& other : failing) {
        seen += std::any_of(other.failures().begin(), other.failures().end(),
                            [&failure](const Failure& f) {
                              return Explains(f, failure.key());
                            });
      }
      if (seen <= most) continue;
      most = seen;
      best = &failure;
    }
  }
  return *best;
}

void Say(const Failure& failure) {
  std::printf("%s %s in %s: %s\n", failure.kernel().c_str(),
              failure.verdict().c_str(), failure.property().c_str(),
              failure.cause().c_str());
  std::fflush(stdout);
}

absl::StatusOr<Reliability> HowReliable(const Engine& engine,
                                        const WorkRequest& request,
                                        const std::vector<std::string>& kernels,
                                        const WatchdogLimits& limits) {
  Reliability seen;
  std::vector<CaseRun> failing;
  for (int i = 0; i < kRuns; ++i) {
    WorkRequest run = request;
    run.set_mode(WorkRequest::RUN);
    const auto runs = RunInWorkers(engine, std::move(run), kernels, limits);
    // Stopped, but it was seen to fail: whoever goes on says how far it came.
    if (absl::IsCancelled(runs.status()) && !failing.empty()) break;
    if (!runs.ok()) return runs.status();
    const CaseRun& one = (*runs)[0];
    if (!one.error().empty()) return absl::InvalidArgumentError(one.error());
    ++seen.runs;
    for (const CaseRun::Line& line : one.lines()) {
      seen.informative |= line.verdict() == "pass";
    }
    if (!Judged(one, {"writer", "gather", "convert", "decode"})) {
      seen.not_judged = WhyNotJudged(one);
    }
    if (one.failures().empty()) continue;
    // At once: all that follows may take long.
    if (failing.empty()) Say(one.failures(0));
    failing.push_back(one);
    // A hang that hung once more does so always.
    if (one.failures(0).verdict() == "hang") break;
  }
  if (failing.empty()) return seen;
  seen.failure = MostSeen(failing);
  if (failing[0].failures(0).key() != seen.failure.key()) {
    std::printf("more often: ");
    Say(seen.failure);
  }
  for (const CaseRun& run : failing) {
    const bool alike = std::any_of(
        run.failures().begin(), run.failures().end(),
        [&](const Failure& f) { return Explains(f, seen.failure.key()); });
    if (alike) {
      ++seen.failed;
    } else {
      seen.others.push_back(run.failures(0).key());
    }
  }
  return seen;
}

int Run(const Arguments& arguments, const std::string&) {
  const auto error = [](absl::string_view message) {
    return UsageError(absl::StrCat("minimize: ", message));
  };
  if (arguments.positional().size() != 1) {
    return error("needs one case: mlafuzz minimize CASE");
  }
  auto targets = ReadTargets(arguments);
  if (!targets.ok()) return error(targets.status().message());
  auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return error(kernels.status().message());
  const auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return error(engine.status().message());
  const auto seconds = arguments.Seconds("time", 60);
  if (!seconds.ok()) return error(seconds.status().message());
  const std::string out =
      arguments.Has("out") ? CallersPath(arguments.Get("out")) : "";
  if (arguments.Has("out")) {
    if (absl::Status s = CanWriteFile("out", out); !s.ok()) {
      return error(s.message());
    }
  }
  // Of a folder, a campaign's say, much is no case.
  std::error_code ignored;
  if (const std::string& typed = arguments.positional()[0];
      std::filesystem::is_directory(CallersPath(typed), ignored)) {
    return error(absl::StrCat(ShownLine(typed),
                              " is a folder; name one case: a campaign's are "
                              "findings/ID/case.txtpb below its --out"));
  }
  const CaseArguments cases = ReadCaseArguments(arguments.positional());
  for (const std::string& e : cases.errors) UsageError(e);
  if (cases.cases.size() != 1) return kExitUsage;
  CatchStopSignals();
  const std::string binary = CanonicalBinary(cases.cases[0].message);
  const Layout layout =
      TokenLayoutOf(cases.cases[0].message.pool().layout()).layout;
  UseBuiltinFor(arguments, layout, &*targets, &*kernels);
  WorkRequest request;
  *request.mutable_targets() = *targets;
  request.add_cases(binary);
  // Whoever minimises a hang has seen it hang.
  WatchdogLimits limits;
  limits.patient = false;
  std::printf("%s: ", cases.cases[0].path.c_str());
  const auto seen = HowReliable(*engine, request, *kernels, limits);
  if (!seen.ok()) {
    std::printf("\n");
    return error(seen.status().message());
  }
  if (seen->failed == 0) {
    const std::string other = OtherLayout(*targets, *kernels, layout);
    if (!other.empty()) {
      std::printf("%s\n", other.c_str());
      return kExitUninformative;
    }
    if (!seen->informative && !seen->not_judged.empty()) {
      std::printf("nothing was judged: %s; nothing to minimise\n",
                  seen->not_judged.c_str());
      return kExitUninformative;
    }
    if (!seen->informative) {
      std::printf(
          "nothing was informative in %d runs: no check could have told a "
          "right kernel from a wrong one; nothing to minimise\n",
          seen->runs);
      return kExitUninformative;
    }
    std::printf("does not fail in %d runs; nothing to minimise\n", seen->runs);
    return kExitNothingFound;
  }
  if (seen->failed < seen->runs && !IsDeath(seen->failure)) {
    std::printf("flaky: it fails like this in %d of %d fresh processes (%d %%)",
                seen->failed, seen->runs, 100 * seen->failed / seen->runs);
    if (!seen->others.empty()) {
      std::printf(", otherwise by %s",
                  absl::StrJoin(seen->others, ", ").c_str());
    }
    request.set_repeat(RepeatsFor(seen->failed, seen->runs));
    std::printf("; each try has up to %u turns\n", request.repeat());
    std::fflush(stdout);
  }
  request.set_cause(seen->failure.key());
  request.set_seconds(*seconds);
  // What is there of an earlier run that was cut is gone on with.
  const auto scratch = ScratchFolder::Create();
  if (!scratch.ok()) return error(scratch.status().message());
  const std::string log = out.empty() ? absl::StrCat(scratch->path(), "/tries")
                                      : absl::StrCat(out, ".tries");
  const MinimizeState before = ReadMinimizeState(log);
  request.set_minimize_log(log);
  if (before.tries > 0) {
    std::printf("going on after %d tries that %s holds\n",
                static_cast<int>(before.tries), ShownPath(log).c_str());
    std::fflush(stdout);
  }
  const LogWatch watch(log);
  absl::StatusOr<MinimizeResult> result = absl::UnknownError("");
  if (IsDeath(seen->failure)) {
    limits.case_seconds = kHangSeconds;
    result = MinimizeDeath(*engine, request, *kernels, limits, {});
  } else {
    result = MinimizeInWorker(*engine, request, limits);
  }
  if (!result.ok()) {
    const MinimizeState now = ReadMinimizeState(log);
    // By a signal, or by the time before it was seen to die once more.
    const bool stopped = absl::IsCancelled(result.status());
    // One that was begun and holds nothing.
    std::error_code none;
    if (!out.empty() && std::filesystem::file_size(log, none) == 0 && !none) {
      std::filesystem::remove(log, none);
    }
    // A log that was refused holds nothing of this case.
    const bool kept =
        !out.empty() && now.tries > 0 && (stopped || now.tries > before.tries);
    const char* resume =
        kept ? "; what was tried is kept: run the same again to go on" : "";
    if (!stopped) {
      return error(absl::StrCat(result.status().message(), resume));
    }
    std::printf("%s after %d tries, at %d bytes of %d%s\n",
                StopSignals() > 0 ? "stopped by a signal" : "the time was up",
                static_cast<int>(now.tries),
                static_cast<int>(now.bytes > 0 ? now.bytes : binary.size()),
                static_cast<int>(binary.size()), resume);
    return kExitFound;
  }
  if (!result->reproduced()) {
    std::printf("it does not fail the same way twice: flaky\n");
    return kExitFound;
  }
  const auto small = ParseCaseBinary(result->case_binary());
  if (!small.ok()) return error(small.status().message());
  const std::string text = FormatCaseText(*small);
  std::printf("%d tries, %d -> %d bytes%s\n", static_cast<int>(result->tries()),
              static_cast<int>(binary.size()),
              static_cast<int>(result->case_binary().size()),
              StopSignals() > 0 && result->exhausted()
                  ? out.empty()
                        ? "; stopped by a signal: this is the smallest so far; "
                          "minimise it to go on"
                        : "; stopped by a signal: this is the smallest so far; "
                          "run the same again to go on"
              : result->exhausted()
                  ? "; not at its end: run the same with a longer --time"
                  : "");
  for (const MinimizeResult::Other& other : result->others()) {
    std::printf("on the way another failure, a finding of its own: %s",
                other.failure().key().c_str());
    const auto its = ParseCaseBinary(other.case_binary());
    if (!out.empty() && its.ok()) {
      const std::string path =
          absl::StrCat(out, ".", FindingId(other.failure().key()), ".txtpb");
      if (absl::Status s = WriteFileAtomically(path, FormatCaseText(*its));
          !s.ok()) {
        std::printf("\n");
        return error(s.message());
      }
      std::printf(": %s", ShownPath(path).c_str());
    }
    std::printf("\n");
  }
  if (out.empty()) {
    std::printf("%s", text.c_str());
    return kExitFound;
  }
  if (absl::Status s = WriteFileAtomically(out, text); !s.ok()) {
    std::printf("%s", text.c_str());
    std::fflush(stdout);
    return error(absl::StrCat(s.message(), "; the case stands above"));
  }
  if (!result->exhausted()) {
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
  }
  std::printf("%s\n", ShownPath(out).c_str());
  return kExitFound;
}

}  // namespace

Command MinimizeCommand() {
  return {"minimize", "CASE", "the smallest case that fails by the same cause",
          WithTargetFlags(
              {{"out", "FILE",
                "write it there; FILE.tries holds what was tried meanwhile"},
               {"time", "T", "at most (default 60s)"}}),
          Run};
}

}  // namespace mlafuzz
