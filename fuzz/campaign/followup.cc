#include "fuzz/campaign/followup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/worker/known_causes.h"

namespace mlafuzz {
namespace {

// Each in a process of its own: what depends on the cases before it shows.
void Rerun(const CampaignOptions& options, Finding& finding, Totals* totals) {
  for (int i = 0; i < kReruns && StopSignals() < 2; ++i) {
    WorkRequest request =
        RequestFor(options, options.other.has_value() ? WorkRequest::DIFF
                                                      : WorkRequest::RUN);
    request.add_cases(finding.case_binary);
    request.set_cause(finding.failure.key());
    const auto runs = RunInWorkers(options.engine, std::move(request),
                                   options.kernels, options.limits);
    if (!runs.ok() || runs->empty()) break;
    ++finding.reruns;
    for (const Failure& failure : (*runs)[0].failures()) {
      if (!Explains(failure, finding.failure.key())) continue;
      ++finding.same;
      break;
    }
  }
  if (finding.reruns > 0 && finding.same < finding.reruns) {
    finding.note = absl::StrCat(
        "flaky: failed the same way in ", finding.same, " of ", finding.reruns,
        " fresh processes; look for state that outlives a call, or for memory "
        "that nobody wrote");
    finding.failure.set_verdict("flaky");
    ++totals->verdicts[static_cast<std::size_t>(Verdict::kFlaky)];
    ++totals->checks;
  }
}

void MinimizeOne(const CampaignOptions& options, Finding& finding) {
  WorkRequest request = RequestFor(options, WorkRequest::MINIMIZE);
  request.add_cases(finding.case_binary);
  request.set_cause(finding.failure.key());
  request.set_seconds(options.minimize_seconds);
  WatchdogLimits limits = options.limits;
  const auto result =
      MinimizeInWorker(options.engine, std::move(request), limits);
  if (!result.ok()) {
    finding.note =
        absl::StrCat("not minimised: ", std::string(result.status().message()));
    return;
  }
  if (!result->reproduced()) {
    finding.note = "not minimised: the case alone does not fail like this";
    return;
  }
  finding.minimal_binary = result->case_binary();
  finding.minimal_file =
      SaveCase(options, finding, "minimal", finding.minimal_binary);
}

}  // namespace

void FollowUp(const CampaignOptions& options, std::vector<Finding>& findings,
              Totals* totals, Progress& progress) {
  std::size_t minimised = 0;
  for (Finding& finding : findings) {
    if (StopSignals() >= 2) {
      finding.note = "not rerun, not minimised: stopped";
      continue;
    }
    if (finding.failure.verdict() == "protocol") continue;
    progress.FollowUp(finding, "rerunning");
    Rerun(options, finding, totals);
    if (finding.failure.verdict() == "flaky") continue;
    if (finding.death) {
      finding.note =
          absl::StrCat("not minimised: each try would end a process (",
                       finding.failure.verdict(), ")");
      continue;
    }
    if (++minimised > kMostMinimised) {
      finding.note = "not minimised: too many findings";
      continue;
    }
    progress.FollowUp(finding, "minimising");
    MinimizeOne(options, finding);
  }
  progress.FollowUpDone();
}

}  // namespace mlafuzz
