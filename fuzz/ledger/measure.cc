#include "fuzz/ledger/measure.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

CampaignOptions Campaign(const MeasureOptions& options,
                         const std::string& target, std::uint64_t seed,
                         const std::string& out) {
  CampaignOptions campaign;
  campaign.engine = options.engine;
  campaign.targets.set_all(target);
  campaign.seed = seed;
  campaign.out = out;
  campaign.quiet = true;
  campaign.follow_up = false;
  return campaign;
}

std::vector<std::string> Names(const std::vector<Kernel>& kernels) {
  std::vector<std::string> names;
  for (const Kernel k : kernels) names.push_back(KernelName(k));
  return names;
}

// A campaign that ended early is no measurement.
absl::Status Complete(const std::string& target,
                      const absl::StatusOr<CampaignResult>& result) {
  if (!result.ok()) return result.status();
  if (result->interrupted || StopSignals() > 0) {
    return absl::CancelledError("stopped by a signal");
  }
  if (!result->error.empty()) {
    return absl::UnavailableError(absl::StrCat(target, ": ", result->error));
  }
  return absl::OkStatus();
}

absl::Status AddReach(const MeasureOptions& options, const LedgerEntry& entry,
                      const std::string& log, SeedRun& run) {
  // Not a single input was a case.
  if (run.cases == 0) return absl::OkStatus();
  WorkRequest request;
  request.mutable_targets()->set_all(entry.target);
  for (const std::string& kernel : Names(entry.kernels)) {
    request.add_kernels(kernel);
  }
  request.set_case_log(log);
  const auto reach =
      ReachInWorker(options.engine, std::move(request), WatchdogLimits());
  if (!reach.ok()) return reach.status();
  run.reached = reach->reached();
  run.triggered = reach->triggered();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SeedRun> MeasureMutant(const MeasureOptions& options,
                                      const LedgerEntry& entry,
                                      WorkRequest::Mutator mutator,
                                      std::uint64_t seed) {
  const auto out = ScratchFolder::Create();
  if (!out.ok()) return out.status();
  const std::string log = absl::StrCat(out->path(), "/cases");
  CampaignOptions campaign = Campaign(options, entry.target, seed, out->path());
  campaign.kernels = Names(entry.kernels);
  campaign.mutator = mutator;
  campaign.inputs = options.inputs;
  campaign.cpu_seconds = options.budget_cpu_seconds;
  campaign.stop_on_first = true;
  campaign.case_log = log;
  const auto result = RunCampaign(campaign);
  if (absl::Status s = Complete(entry.target, result); !s.ok()) return s;
  SeedRun run;
  run.seed = seed;
  run.inputs = result->totals.inputs;
  run.cases = result->totals.cases;
  if (result->findings.empty()) {
    if (absl::Status s = AddReach(options, entry, log + ".0", run); !s.ok()) {
      return s;
    }
    return run;
  }
  const Finding& first = result->findings.all()[0];
  run.reached = run.triggered = run.detected = true;
  run.executions = first.executions_to_find;
  run.cpu_seconds = first.cpu_seconds_to_find;
  run.cause = CauseOf(entry, first.failure);
  run.kernel = first.failure.kernel();
  run.property = first.failure.property();
  run.key = first.failure.key();
  run.also.assign(first.failure.also().begin(), first.failure.also().end());
  run.alike = first.alike;
  run.others = first.others;
  run.contradicted = first.contradicted;
  return run;
}

absl::StatusOr<std::vector<std::string>> FindGroups(
    const MeasureOptions& options, const LedgerEntry& entry,
    std::uint64_t seed) {
  const auto out = ScratchFolder::Create();
  if (!out.ok()) return out.status();
  CampaignOptions campaign = Campaign(options, entry.target, seed, out->path());
  campaign.kernels = Names(entry.kernels);
  // As many as a control is judged by.
  campaign.cases = options.control_cases;
  campaign.cpu_seconds = options.budget_cpu_seconds;
  const auto result = RunCampaign(campaign);
  if (absl::Status s = Complete(entry.target, result); !s.ok()) return s;
  std::vector<std::string> causes;
  for (const Finding& finding : result->findings.all()) {
    causes.push_back(finding.failure.key());
  }
  return causes;
}

absl::StatusOr<ControlRow> MeasureControl(const MeasureOptions& options,
                                          const TargetInfo& info,
                                          std::uint64_t seed) {
  ControlRow row;
  row.id = info.name;
  // builtin replaces nothing and has all.
  const std::vector<Kernel> kernels =
      info.replaces.empty()
          ? std::vector<Kernel>(kAllKernels.begin(), kAllKernels.end())
          : info.replaces;
  for (const Kernel kernel : kernels) {
    const auto out = ScratchFolder::Create();
    if (!out.ok()) return out.status();
    CampaignOptions campaign = Campaign(options, info.name, seed, out->path());
    campaign.kernels = {KernelName(kernel)};
    campaign.cases = options.control_cases;
    campaign.settle = false;
    const auto result = RunCampaign(campaign);
    if (absl::Status s = Complete(info.name, result); !s.ok()) return s;
    row.cases += result->totals.cases;
    for (const Finding& finding : result->findings.all()) {
      ++row.false_alarms;
      row.alarms.push_back(absl::StrCat(finding.failure.key(), ": ",
                                        finding.failure.property(), ": ",
                                        finding.failure.detail()));
    }
    if (result->findings.empty() && ExitCode(*result) != 0) {
      // Nothing was informative, or a failure left no record: no pass.
      ++row.false_alarms;
      row.alarms.push_back(absl::StrCat(KernelName(kernel),
                                        ": the campaign ended with exit code ",
                                        ExitCode(*result), " and no finding"));
    }
  }
  return row;
}

}  // namespace mlafuzz
