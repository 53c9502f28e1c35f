#include "fuzz/campaign/minimize_death.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "corpus/codec.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/worker/minimize_log.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

bool Dies(const CaseRun& run, const std::string& cause) {
  return std::any_of(run.failures().begin(), run.failures().end(),
                     [&](const Failure& f) { return f.key() == cause; });
}

}  // namespace

absl::StatusOr<MinimizeResult> MinimizeDeath(
    const Engine& engine, WorkRequest request,
    const std::vector<std::string>& kernels_under_test, WatchdogLimits limits,
    const std::function<void(const MinimizeProgress&)>& progress) {
  if (request.cases_size() != 1) {
    return absl::InvalidArgumentError("minimize takes one case");
  }
  const absl::StatusOr<Case> start = ParseCaseBinary(request.cases(0));
  if (!start.ok()) return start.status();
  request.set_mode(WorkRequest::RUN);
  request.set_alone(true);
  MinimizeOptions options;
  options.max_tries = kMostDeaths;
  if (request.seconds() > 0) options.max_seconds = request.seconds();
  const Clock::time_point until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(options.max_seconds));
  const Clock::time_point end = std::min(until, limits.until);
  const std::string cause = request.cause();
  // A hang that has been seen is known to be one: no second look.
  limits.patient = false;
  // A try that is under way then ends with it.
  limits.until = end;
  std::unique_ptr<MinimizeLog> log;
  if (!request.minimize_log().empty()) {
    auto opened = MinimizeLog::Open(request.minimize_log(), NumberOf(request));
    if (!opened.ok()) return opened.status();
    log = *std::move(opened);
    request.clear_minimize_log();
  }
  std::uint64_t best = request.cases(0).size();
  // Why a try was none: what is not tried is not known to live.
  absl::Status cut = absl::OkStatus();
  const auto still_dies = [&](const Case& c) {
    if (!cut.ok()) return false;
    if (StopSignals() > 0) cut = absl::CancelledError("stopped by a signal");
    if (Clock::now() >= end) cut = absl::CancelledError("the time was up");
    if (!cut.ok()) return false;
    const std::uint64_t hash = CaseHash(c);
    if (log != nullptr) {
      if (const auto known = log->Find(hash); known.has_value()) return *known;
    }
    const std::string binary = CanonicalBinary(c);
    request.set_cases(0, binary);
    const auto runs = RunInWorkers(engine, request, kernels_under_test, limits);
    cut = runs.status();
    if (!runs.ok()) return false;
    const bool dies = !runs->empty() && Dies((*runs)[0], cause);
    if (dies) best = std::min<std::uint64_t>(best, binary.size());
    if (log != nullptr) cut = log->Append(hash, dies, best);
    return dies;
  };
  MinimizeResult result;
  result.set_reproduced(still_dies(*start));
  if (!cut.ok()) return cut;
  if (!result.reproduced()) return result;
  const Case small =
      Minimize(*start, options, still_dies, [&](const MinimizeProgress& now) {
        if (!cut.ok()) return;  // not really tried
        result.set_tries(now.tries);
        if (progress) progress(now);
      });
  result.set_exhausted(result.tries() >= options.max_tries || !cut.ok() ||
                       Clock::now() >= end);
  result.set_case_binary(CanonicalBinary(small));
  return result;
}

std::uint32_t RepeatsFor(int failed, int runs) {
  constexpr double kMissed = 0.01;
  constexpr double kMost = 20;
  if (failed <= 0 || failed >= runs) return 1;
  const double passes = 1 - static_cast<double>(failed) / runs;
  return static_cast<std::uint32_t>(
      std::min(kMost, std::ceil(std::log(kMissed) / std::log(passes))));
}

}  // namespace mlafuzz
