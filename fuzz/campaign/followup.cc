#include "fuzz/campaign/followup.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/minimize_death.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/known_causes.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

// Runs of a case in one process, at most, to see it fail in its own company.
constexpr std::uint64_t kMostRepeats = 1000;

// Why no more is begun; empty while there is time.
std::string Over(const CampaignOptions& options) {
  if (StopSignals() > 0) return "stopped by a signal";
  return SecondsLeft(options) <= 0 ? "the time was up" : "";
}

// One process, fresh; `repeat` runs of the case in it.
absl::StatusOr<CaseRun> RunOnce(const CampaignOptions& options,
                                const Finding& finding,
                                const std::string& case_binary,
                                std::uint32_t repeat) {
  WorkRequest request =
      RequestFor(options, options.other.has_value() ? WorkRequest::DIFF
                                                    : WorkRequest::RUN);
  request.add_cases(case_binary);
  request.set_cause(finding.key_of_case());
  request.set_repeat(repeat);
  // Relations make more calls than the case: they are no witnesses of a fault
  // of the case itself.
  request.set_alone(!IsRelation(finding.failure.property()));
  auto runs = RunInWorkers(options.engine, std::move(request), options.kernels,
                           options.limits);
  if (!runs.ok()) return runs.status();
  if (runs->empty()) return absl::InternalError("no run");
  if (!(*runs)[0].error().empty()) {
    return absl::UnavailableError((*runs)[0].error());
  }
  return std::move((*runs)[0]);
}

// What is known of one that does not come back alone.
std::string CompanyText(const CampaignOptions& options, Finding& finding) {
  std::string text;
  if (finding.earlier_calls > 0) {
    text = absl::StrCat("; it came in a process that had made ",
                        finding.earlier_calls, " calls before");
  }
  if (finding.same > 0 || options.other.has_value()) return text;
  const auto repeat = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(finding.earlier_calls + 1, 2, kMostRepeats));
  const auto run = RunOnce(options, finding, finding.case_binary, repeat);
  if (!run.ok()) return text;
  if (run->same_failures() == 0) {
    absl::StrAppend(&text, "; it did not come in ", run->runs(),
                    " runs of the case in one process either");
  } else {
    absl::StrAppend(&text, "; it came again in ", run->same_failures(), " of ",
                    run->runs(), " runs of the case in one process");
    finding.repeat = repeat;
  }
  return text;
}

// Each in a process of its own: what depends on the cases before it shows.
void Rerun(const CampaignOptions& options, Finding& finding, Totals* totals) {
  std::string over;
  for (int i = 0; i < kReruns; ++i) {
    const auto run = RunOnce(options, finding, finding.case_binary, 1);
    if (!run.ok()) {
      over = std::string(run.status().message());
      break;
    }
    ++finding.reruns;
    finding.same += FailsAlike(*run, finding) ? 1 : 0;
    finding.passed += run->failures().empty() ? 1 : 0;
  }
  if (finding.reruns == 0) {
    finding.note = absl::StrCat("not rerun, not minimised: ", over);
    return;
  }
  if (finding.same == finding.reruns) return;
  finding.note = absl::StrCat(
      "flaky: alone, in a fresh process, it failed the same way in ",
      finding.same, " of ", finding.reruns, " tries",
      CompanyText(options, finding),
      "; look for state that outlives a call, or for memory that nobody wrote");
  finding.failure.set_verdict("flaky");
  ++totals->verdicts[static_cast<std::size_t>(Verdict::kFlaky)];
  ++totals->checks;
}

// Whether the case is right each time that it runs alone. A rule says what a
// kernel makes of a call, whatever came before: none explains this one.
bool NowAndThen(const Finding& finding) {
  return finding.reruns == kReruns && finding.passed == finding.reruns &&
         finding.earlier_calls > 0 && !finding.death &&
         !IsRelation(finding.failure.property());
}

// Findings of a kernel that are wrong now and then are one: what their cases
// look like says nothing of the reason.
void JoinNowAndThen(const CampaignOptions& options,
                    std::vector<Finding>& findings, Progress& progress) {
  if (options.other.has_value()) return;
  std::vector<Finding> joined;
  for (Finding& finding : findings) {
    if (!NowAndThen(finding)) {
      joined.push_back(std::move(finding));
      continue;
    }
    const std::string& kernel = finding.failure.kernel();
    const std::string key = absl::StrCat(kernel, "/now-and-then");
    const auto known = std::find_if(
        joined.begin(), joined.end(),
        [&key](const Finding& f) { return f.failure.key() == key; });
    if (known != joined.end()) {
      RemoveFinding(options, finding.id);
      progress.Joined(finding.id, *known);
      continue;
    }
    const std::string was = finding.id;
    Failure& failure = finding.failure;
    failure.set_cause(absl::StrCat(
        "the ", kernel, " is wrong now and then: the case alone, in a fresh ",
        "process, is right in ", finding.passed, " of ", finding.reruns,
        " tries; once it was: ", failure.cause()));
    failure.set_key(key);
    failure.clear_field();
    failure.clear_also();
    failure.clear_possible();
    RenameFinding(options, finding, FindingId(key));
    finding.case_file = SaveCase(options, finding, "case", finding.case_binary);
    SaveExplanation(options, finding);
    progress.Joined(was, finding);
    joined.push_back(std::move(finding));
  }
  findings = std::move(joined);
}

// Of one that hung, a try need not last as long as the finding's.
WatchdogLimits DeathLimits(const CampaignOptions& options) {
  constexpr double kHangSeconds = 1;
  WatchdogLimits limits = options.limits;
  limits.case_seconds =
      std::min(limits.case_seconds,
               kHangSeconds + CallSeconds(options.targets) *
                                  (AnyForeign(options.targets) ? 2 : 0));
  return limits;
}

void MinimizeOne(const CampaignOptions& options, double seconds,
                 Finding& finding, std::vector<Finding>* met) {
  WorkRequest request = RequestFor(options, WorkRequest::MINIMIZE);
  request.add_cases(finding.case_binary);
  request.set_cause(finding.key_of_case());
  request.set_seconds(seconds);
  const bool flaky = finding.failure.verdict() == "flaky";
  if (flaky) request.set_repeat(RepeatsFor(finding.same, finding.reruns));
  const auto result =
      finding.death ? MinimizeDeath(options.engine, std::move(request),
                                    options.kernels, DeathLimits(options), {})
                    : MinimizeInWorker(options.engine, std::move(request),
                                       options.limits);
  // What it is flaky for is said already.
  const auto note = [&finding](const std::string& text) {
    finding.note = absl::StrCat(finding.note, finding.note.empty() ? "" : "; ",
                                "not minimised: ", text);
  };
  if (!result.ok()) {
    note(std::string(result.status().message()));
    return;
  }
  if (!result->reproduced()) {
    note("the case alone does not fail like this");
    return;
  }
  for (const MinimizeResult::Other& other : result->others()) {
    if (met == nullptr || flaky) break;
    Finding& one = met->emplace_back();
    one.failure = other.failure();
    one.case_binary = other.case_binary();
    one.executions_to_find = finding.executions_to_find;
    one.cases_to_find = finding.cases_to_find;
    one.seconds_to_find = finding.seconds_to_find;
    one.cpu_seconds_to_find = finding.cpu_seconds_to_find;
  }
  // All tries were calls of one process: does it take those before it?
  const auto run =
      RunOnce(options, finding, result->case_binary(),
              flaky ? RepeatsFor(finding.same, finding.reruns) : 1);
  if (!run.ok() || !FailsAlike(*run, finding)) {
    note(absl::StrCat("the smallest case that failed like this ",
                      run.ok()
                          ? "does not in a fresh process"
                          : absl::StrCat("could not be run again: ",
                                         std::string(run.status().message()))));
    return;
  }
  finding.minimal_binary = result->case_binary();
  // Whoever opens the folder opens the small one.
  const std::string original =
      SaveCase(options, finding, "original", finding.case_binary);
  finding.minimal_file =
      SaveCase(options, finding, "case", finding.minimal_binary);
  // Where neither could be written what was there is whole.
  if (!original.empty() || !finding.minimal_file.empty()) {
    finding.case_file = original;
  }
}

// Of the time that is left what one of `findings` may take for its minimising;
// as much again goes to reruns.
double MinimizeSeconds(const CampaignOptions& options, std::size_t findings) {
  return std::min(options.minimize_seconds,
                  SecondsLeft(options) / 2 / static_cast<double>(findings));
}

}  // namespace

void FollowUp(const CampaignOptions& options, std::vector<Finding>& findings,
              Totals* totals, Progress& progress, std::vector<Finding>* met) {
  // All reruns first: how reliable a finding is says more than how small.
  for (Finding& finding : findings) {
    if (const std::string over = Over(options); !over.empty()) {
      finding.note = absl::StrCat("not rerun, not minimised: ", over);
      continue;
    }
    // No case of it.
    if (finding.failure.property() == "worker") continue;
    progress.FollowUp(finding, "rerunning");
    Rerun(options, finding, totals);
  }
  JoinNowAndThen(options, findings, progress);
  std::size_t minimised = 0;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding& finding = findings[i];
    if (finding.reruns == 0 || finding.same == 0) continue;
    if (const std::string over = Over(options); !over.empty()) {
      finding.note = absl::StrCat("not minimised: ", over);
      continue;
    }
    if (++minimised > kMostMinimised) {
      finding.note = "not minimised: too many findings";
      continue;
    }
    progress.FollowUp(finding, "minimising");
    MinimizeOne(options, MinimizeSeconds(options, findings.size() - i), finding,
                met);
  }
  progress.FollowUpDone();
}

}  // namespace mlafuzz
