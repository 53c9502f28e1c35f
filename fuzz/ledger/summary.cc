#include "fuzz/ledger/summary.h"

#include <algorithm>

namespace mlafuzz {
namespace {

// What separates two times on a machine that does other things as well.
constexpr double kTieFactor = 2;
constexpr double kTieSeconds = 0.01;

const MutantRow* FindMutant(const LedgerResult& result, const std::string& id) {
  for (const MutantRow& row : result.mutants) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

}  // namespace

EngineSummary Summarise(const EngineRuns& runs) {
  EngineSummary summary;
  std::vector<double> executions, cpu_seconds;
  std::vector<CauseVerdict> causes;
  for (const SeedRun& run : runs.runs) {
    ++summary.seeds;
    summary.reached += run.reached ? 1 : 0;
    summary.triggered += run.triggered ? 1 : 0;
    if (!run.detected) continue;
    ++summary.detected;
    executions.push_back(static_cast<double>(run.executions));
    cpu_seconds.push_back(run.cpu_seconds);
    causes.push_back(run.cause);
    summary.right += run.cause == CauseVerdict::kRight ? 1 : 0;
    summary.unknown += run.cause == CauseVerdict::kUnknown ? 1 : 0;
    summary.wrong += run.cause == CauseVerdict::kWrong ? 1 : 0;
  }
  const std::size_t missed = summary.seeds - summary.detected;
  summary.executions = SpreadOf(std::move(executions), missed);
  summary.cpu_seconds = SpreadOf(std::move(cpu_seconds), missed);
  summary.cause = CauseOverSeeds(causes);
  return summary;
}

Weakness WeaknessOf(const EngineSummary& summary) {
  if (summary.detected == summary.seeds) return Weakness::kNone;
  return summary.triggered > summary.detected ? Weakness::kOracle
                                              : Weakness::kGenerator;
}

std::string WeaknessText(const EngineSummary& summary) {
  switch (WeaknessOf(summary)) {
    case Weakness::kNone:
      return "";
    case Weakness::kGenerator:
      return summary.reached > summary.triggered
                 ? "generator weak (reached, never triggered)"
                 : "generator weak (never reached)";
    case Weakness::kOracle:
      return "oracle weak (triggered, not detected)";
  }
  return "";
}

bool Killed(const EngineSummary& summary) {
  return summary.executions.median.has_value();
}

Spread CpuSecondsOf(const BaselineTarget& target) {
  std::vector<double> seconds;
  for (const BaselineRun& run : target.runs) {
    if (run.flagged) seconds.push_back(run.cpu_seconds);
  }
  const std::size_t missed = target.runs.size() - seconds.size();
  return SpreadOf(std::move(seconds), missed);
}

bool Killed(const BaselineTarget& target) {
  return CpuSecondsOf(target).median.has_value();
}

bool Applies(const BaselineTarget& target) {
  return std::any_of(target.runs.begin(), target.runs.end(),
                     [](const BaselineRun& run) { return run.applicable; });
}

Comparison Compare(const LedgerResult& result, const BaselineRow& baseline) {
  Comparison comparison;
  comparison.baseline = baseline.id;
  for (const BaselineTarget& target : baseline.mutants) {
    const MutantRow* row = FindMutant(result, target.target);
    if (row == nullptr || row->engines.empty() || target.runs.empty()) continue;
    const EngineSummary ours = Summarise(row->engines[0]);
    if (ours.seeds == 0) continue;
    ++comparison.mutants;
    const bool theirs = Killed(target);
    comparison.killed_by_baseline += theirs ? 1 : 0;
    comparison.killed_by_us += Killed(ours) ? 1 : 0;
    if (Applies(target)) {
      ++comparison.applicable;
      comparison.killed_by_us_applicable += Killed(ours) ? 1 : 0;
    }
    if (theirs && !Killed(ours)) {
      comparison.only_baseline.push_back(target.target);
    }
    if (!theirs || !Killed(ours)) continue;
    ++comparison.both;
    const double they = *CpuSecondsOf(target).median;
    const double we = *ours.cpu_seconds.median;
    if (we <= std::max(kTieFactor * they, they + kTieSeconds)) {
      ++comparison.first_or_tied;
    } else {
      comparison.slower.push_back(target.target);
    }
  }
  for (const BaselineTarget& target : baseline.controls) {
    if (!Applies(target)) continue;
    ++comparison.controls;
    // One false alarm is one too many.
    comparison.controls_flagged +=
        std::any_of(target.runs.begin(), target.runs.end(),
                    [](const BaselineRun& run) { return run.flagged; })
            ? 1
            : 0;
  }
  return comparison;
}

GroupCount CountGroups(const LedgerResult& result) {
  GroupCount count;
  for (const MutantRow& row : result.mutants) {
    if (!row.groups.has_value()) continue;
    count.findings += row.groups->size();
    count.causes += row.kernels.size();
  }
  return count;
}

int LedgerExitCode(const LedgerResult& result) {
  if (!result.errors.empty()) return 2;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      const EngineSummary summary = Summarise(engine);
      if (summary.triggered > summary.detected || summary.wrong > 0) return 1;
    }
  }
  for (const ControlRow& row : result.controls) {
    if (row.false_alarms > 0) return 1;
  }
  return 0;
}

}  // namespace mlafuzz
