#include "fuzz/ledger/text.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fuzz/ledger/summary.h"

namespace mlafuzz {
namespace {

std::string Count(const std::optional<double>& value) {
  if (!value.has_value()) return "-";
  return *value == std::floor(*value) ? absl::StrFormat("%.0f", *value)
                                      : absl::StrFormat("%.1f", *value);
}

std::string Seconds(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.3g", *value) : "-";
}

std::string Of(std::size_t some, std::size_t all) {
  return absl::StrCat(some, "/", all);
}

// One engine of one mutant, short.
std::string EngineText(const EngineRuns& runs) {
  const EngineSummary s = Summarise(runs);
  std::string text = absl::StrCat(runs.engine, " ", Of(s.detected, s.seeds));
  if (s.executions.median.has_value()) {
    absl::StrAppend(&text, ", ", Count(s.executions.median), " calls, ",
                    Seconds(s.cpu_seconds.median), " CPU s");
  }
  if (s.detected > 0) absl::StrAppend(&text, ", cause ", CauseName(s.cause));
  if (const std::string weak = WeaknessText(s); !weak.empty()) {
    absl::StrAppend(&text, ", ", weak);
  }
  return text;
}

void AppendErrors(const LedgerResult& result, std::string& text) {
  if (result.errors.empty()) return;
  absl::StrAppend(&text, "Not measured:\n  ",
                  absl::StrJoin(result.errors, "\n  "), "\n\n");
}

void AppendSurvivors(const LedgerResult& result, std::string& text) {
  std::string lines;
  int survivors = 0;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      const EngineSummary s = Summarise(engine);
      if (WeaknessOf(s) == Weakness::kNone) continue;
      ++survivors;
      absl::StrAppendFormat(&lines, "  %-42s %-10s found by %s seeds: %s\n",
                            row.id, engine.engine, Of(s.detected, s.seeds),
                            WeaknessText(s));
    }
  }
  absl::StrAppend(
      &text, "Survivors: ", survivors == 0 ? "none" : absl::StrCat(survivors),
      "\n", lines, "\n");
}

void AppendWrongCauses(const LedgerResult& result, std::string& text) {
  std::string lines;
  int wrong = 0;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      for (const SeedRun& run : engine.runs) {
        if (!run.detected || run.cause != CauseVerdict::kWrong) continue;
        ++wrong;
        absl::StrAppendFormat(
            &lines, "  %-42s %-10s seed %d: %s, %s%s\n", row.id, engine.engine,
            run.seed, run.key, run.property,
            run.also.empty()
                ? ""
                : absl::StrCat("; or ", absl::StrJoin(run.also, ", ")));
      }
    }
  }
  if (wrong > 0) {
    absl::StrAppend(&text, "Wrong causes: ", wrong, "\n", lines, "\n");
  }
}

void AppendMutants(const LedgerResult& result, std::string& text) {
  absl::StrAppendFormat(&text, "%-42s %-10s %7s %9s %8s %-22s %-26s %s\n",
                        "wrong kernel", "engine", "reached", "triggered",
                        "detected", "calls to kill", "CPU s to kill", "cause");
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      const EngineSummary s = Summarise(engine);
      absl::StrAppendFormat(&text, "%-42s %-10s %7s %9s %8s %-22s %-26s %s%s\n",
                            row.id, engine.engine, Of(s.reached, s.seeds),
                            Of(s.triggered, s.seeds), Of(s.detected, s.seeds),
                            absl::StrCat(Count(s.executions.median), " (",
                                         Count(s.executions.low), " .. ",
                                         Count(s.executions.high), ")"),
                            absl::StrCat(Seconds(s.cpu_seconds.median), " (",
                                         Seconds(s.cpu_seconds.low), " .. ",
                                         Seconds(s.cpu_seconds.high), ")"),
                            s.detected == 0 ? "-" : CauseName(s.cause),
                            row.groups.has_value()
                                ? absl::StrCat(", ", row.groups->size(), " of ",
                                               row.kernels.size(), " findings")
                                : "");
    }
  }
}

// Of campaigns that go on.
void AppendGroups(const LedgerResult& result, std::string& text) {
  const GroupCount count = CountGroups(result);
  if (count.causes == 0) return;
  absl::StrAppendFormat(
      &text, "\nFindings: %d for %d wrong kernels, %.2f a cause\n",
      count.findings, count.causes,
      static_cast<double>(count.findings) / static_cast<double>(count.causes));
  for (const MutantRow& row : result.mutants) {
    if (!row.groups.has_value() || row.groups->size() <= row.kernels.size()) {
      continue;
    }
    absl::StrAppendFormat(&text, "  %-42s %s\n", row.id,
                          absl::StrJoin(*row.groups, ", "));
  }
}

void AppendControls(const LedgerResult& result, std::string& text) {
  std::uint64_t cases = 0, alarms = 0;
  absl::StrAppend(&text, "\nRight kernels\n");
  for (const ControlRow& row : result.controls) {
    cases += row.cases;
    alarms += row.false_alarms;
    absl::StrAppend(&text, "  ", ControlLine(row), "\n");
    for (const std::string& alarm : row.alarms) {
      absl::StrAppend(&text, "    ", alarm, "\n");
    }
  }
  absl::StrAppend(&text, "  in all ", cases, " cases, ", alarms,
                  " false alarms\n");
}

void AppendBaselines(const LedgerResult& result, std::string& text) {
  if (result.baselines.empty()) return;
  absl::StrAppend(&text, "\nBaselines, beside the first engine\n");
  for (const BaselineRow& row : result.baselines) {
    const Comparison c = Compare(result, row);
    absl::StrAppendFormat(
        &text,
        "  %-28s kills %d of %d, ours %d; of the %d that it has a test of, "
        "ours "
        "%d; of %d that both kill, ours is first or tied in CPU seconds on %d; "
        "it flags %d of %d right kernels\n",
        c.baseline, c.killed_by_baseline, c.mutants, c.killed_by_us,
        c.applicable, c.killed_by_us_applicable, c.both, c.first_or_tied,
        c.controls_flagged, c.controls);
    if (!c.only_baseline.empty()) {
      absl::StrAppend(
          &text, "    it alone: ", absl::StrJoin(c.only_baseline, ", "), "\n");
    }
    if (!c.slower.empty()) {
      absl::StrAppend(&text, "    it is faster on ",
                      absl::StrJoin(c.slower, ", "), "\n");
    }
  }
}

}  // namespace

std::string MutantLine(const MutantRow& row) {
  std::vector<std::string> engines;
  for (const EngineRuns& engine : row.engines) {
    engines.push_back(EngineText(engine));
  }
  std::string text =
      absl::StrFormat("%-42s %s", row.id, absl::StrJoin(engines, "; "));
  if (row.groups.has_value()) {
    absl::StrAppend(&text, "; ", row.groups->size(), " of ", row.kernels.size(),
                    " findings");
  }
  return text;
}

std::string ControlLine(const ControlRow& row) {
  return absl::StrFormat("%-42s %d cases, %d false alarms", row.id, row.cases,
                         row.false_alarms);
}

std::string LedgerText(const LedgerResult& result) {
  std::string text;
  AppendErrors(result, text);
  AppendSurvivors(result, text);
  AppendWrongCauses(result, text);
  AppendMutants(result, text);
  AppendGroups(result, text);
  AppendControls(result, text);
  AppendBaselines(result, text);
  const double coverage =
      SpreadOf(std::vector<double>(result.seeds, 0), 0).coverage;
  absl::StrAppendFormat(
      &text,
      "\n%d seeds, at most %d inputs%s a campaign, flavour %s. In parentheses: "
      "%s; the median lies between them with probability %.2f or more. - : not "
      "found. CPU time is the worker's, from its first case to the failure.\n",
      result.seeds, result.inputs,
      result.budget_cpu_seconds > 0
          ? absl::StrFormat(" and %g CPU s", result.budget_cpu_seconds)
          : "",
      result.flavour,
      result.seeds < 6 ? "the least and the most" : "order statistics",
      coverage);
  absl::StrAppendFormat(
      &text, "%d wrong and %d right kernels in %.0f s%s\n",
      result.mutants.size(), result.controls.size(), result.seconds,
      result.interrupted ? "; INTERRUPTED: what was not run is not here" : "");
  return text;
}

}  // namespace mlafuzz
