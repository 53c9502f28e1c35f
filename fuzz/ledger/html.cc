#include "fuzz/ledger/html.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/ledger/summary.h"

namespace mlafuzz {
namespace {

// Colours of Okabe and Ito, which stay apart for most colour-blind readers and
// differ in lightness; the sign in each cell says the same.
constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mlafuzz ledger</title>
<style>
body { font: 14px/1.4 sans-serif; margin: 2em; color: #000; background: #fff }
table { border-collapse: collapse; margin: 1em 0 }
th, td { border: 1px solid #999; padding: 2px 8px; text-align: left }
thead th { background: #eee }
td.n { text-align: right }
.all { background: #56b4e9 }
.some { background: #f0e442 }
.generator { background: #e69f00 }
.oracle { background: #d55e00; color: #fff; font-weight: bold }
.missed { background: #fff }
.none { background: #eee; color: #555 }
.sign { font-weight: bold; display: inline-block; width: 1.3em }
.wrong { text-decoration: underline; font-weight: bold }
@media print { * { print-color-adjust: exact } tr { break-inside: avoid } }
</style></head><body>
)";

struct Sign {
  const char* style;
  const char* sign;
  const char* words;
};
constexpr Sign kAll = {"all", "\u25cf", "killed with every seed"};
constexpr Sign kSome = {"some", "\u25d0",
                        "killed with some seeds; triggered wherever it was "
                        "noticed"};
constexpr Sign kGenerator = {"generator", "\u25cb",
                             "survives: generator weak, never triggered"};
constexpr Sign kOracle = {"oracle", "\u2715",
                          "oracle weak: triggered with more seeds than "
                          "noticed"};
constexpr Sign kMissed = {"missed", "\u25cb", "a baseline passes it"};
constexpr Sign kNone = {"none", "\u2013", "not run, or no test of it"};

std::string Cell(const Sign& sign, const std::string& words) {
  return absl::StrCat("<td class=\"", sign.style, "\" title=\"", sign.words,
                      "\"><span class=\"sign\">", sign.sign, "</span>", words,
                      "</td>");
}

std::string EngineCell(const EngineSummary& s) {
  Sign sign = kAll;
  switch (WeaknessOf(s)) {
    case Weakness::kNone:
      break;
    case Weakness::kGenerator:
      sign = s.detected > 0 ? kSome : kGenerator;
      break;
    case Weakness::kOracle:
      sign = kOracle;
      break;
  }
  std::string words = absl::StrCat(s.detected, "/", s.seeds);
  if (s.executions.median.has_value()) {
    absl::StrAppendFormat(&words, ", %.0f calls, %.3g s", *s.executions.median,
                          *s.cpu_seconds.median);
  }
  if (s.detected < s.seeds) {
    absl::StrAppend(&words, ", triggered ", s.triggered, "/", s.seeds);
  }
  if (s.detected > 0 && s.cause != CauseVerdict::kRight) {
    absl::StrAppend(&words, ", <span class=\"",
                    s.cause == CauseVerdict::kWrong ? "wrong" : "", "\">cause ",
                    CauseName(s.cause), "</span>");
  }
  return Cell(sign, words);
}

std::string BaselineCell(const BaselineTarget* target) {
  if (target == nullptr || !Applies(*target)) return Cell(kNone, "");
  std::size_t flagged = 0;
  for (const BaselineRun& run : target->runs) flagged += run.flagged ? 1 : 0;
  std::string words = absl::StrCat(flagged, "/", target->runs.size());
  if (const auto median = CpuSecondsOf(*target).median; median.has_value()) {
    absl::StrAppendFormat(&words, ", %.3g s", *median);
  }
  return Cell(flagged == 0                     ? kMissed
              : flagged == target->runs.size() ? kAll
                                               : kSome,
              words);
}

const BaselineTarget* Find(const std::vector<BaselineTarget>& targets,
                           const std::string& id) {
  for (const BaselineTarget& target : targets) {
    if (target.target == id) return &target;
  }
  return nullptr;
}

// In the order of the first row that has them.
std::vector<std::string> Engines(const LedgerResult& result) {
  std::vector<std::string> engines;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      if (std::find(engines.begin(), engines.end(), engine.engine) ==
          engines.end()) {
        engines.push_back(engine.engine);
      }
    }
  }
  return engines;
}

void AppendMatrix(const LedgerResult& result, std::string& page) {
  const std::vector<std::string> engines = Engines(result);
  absl::StrAppend(&page,
                  "<table><thead><tr><th>wrong kernel</th><th>of the</th>"
                  "<th>met in</th>");
  for (const std::string& engine : engines) {
    absl::StrAppend(&page, "<th>", MarkupText(engine), "</th>");
  }
  for (const BaselineRow& baseline : result.baselines) {
    absl::StrAppend(&page, "<th>", MarkupText(baseline.id), "</th>");
  }
  absl::StrAppend(&page, "</tr></thead><tbody>\n");
  for (const MutantRow& row : result.mutants) {
    absl::StrAppend(&page, "<tr><th>", MarkupText(row.id), "</th><td>",
                    MarkupText(absl::StrJoin(row.kernels, ", ")), "</td><td>",
                    MarkupText(row.source), "</td>");
    for (const std::string& name : engines) {
      const auto engine = std::find_if(
          row.engines.begin(), row.engines.end(),
          [&](const EngineRuns& runs) { return runs.engine == name; });
      absl::StrAppend(&page, engine == row.engines.end()
                                 ? Cell(kNone, "")
                                 : EngineCell(Summarise(*engine)));
    }
    for (const BaselineRow& baseline : result.baselines) {
      absl::StrAppend(&page, BaselineCell(Find(baseline.mutants, row.id)));
    }
    absl::StrAppend(&page, "</tr>\n");
  }
  absl::StrAppend(&page, "</tbody></table>\n<p>");
  for (const Sign& sign : {kAll, kSome, kGenerator, kOracle, kMissed, kNone}) {
    absl::StrAppend(&page, "<span class=\"", sign.style, "\">&nbsp;", sign.sign,
                    "&nbsp;</span> ", sign.words, "<br>");
  }
  absl::StrAppend(
      &page,
      "In a cell: seeds that killed it, the median of calls of the kernel and "
      "of the worker's CPU seconds from its first case to the failure; the "
      "cause that was named, where that is not the ledger's.</p>\n");
}

void AppendControls(const LedgerResult& result, std::string& page) {
  absl::StrAppend(&page,
                  "<h2>Right kernels</h2>\n<table><thead><tr><th>right "
                  "kernel</th><th>cases</th><th>false alarms</th>");
  for (const BaselineRow& baseline : result.baselines) {
    absl::StrAppend(&page, "<th>", MarkupText(baseline.id), "</th>");
  }
  absl::StrAppend(&page, "</tr></thead><tbody>\n");
  for (const ControlRow& row : result.controls) {
    const Sign sign = row.false_alarms == 0 ? kMissed : kOracle;
    absl::StrAppend(&page, "<tr><th>", MarkupText(row.id),
                    "</th><td class=\"n\">", row.cases, "</td><td class=\"",
                    sign.style, "\">", row.false_alarms, "</td>");
    for (const BaselineRow& baseline : result.baselines) {
      const BaselineTarget* target = Find(baseline.controls, row.id);
      const bool flagged =
          target != nullptr &&
          std::any_of(target->runs.begin(), target->runs.end(),
                      [](const BaselineRun& run) { return run.flagged; });
      const Sign s = target == nullptr || !Applies(*target) ? kNone
                     : flagged                              ? kOracle
                                                            : kMissed;
      absl::StrAppend(&page, "<td class=\"", s.style, "\">",
                      s.style == kNone.style ? kNone.sign
                      : flagged              ? "\u2715 flagged"
                                             : "not flagged",
                      "</td>");
    }
    absl::StrAppend(&page, "</tr>\n");
  }
  absl::StrAppend(&page, "</tbody></table>\n");
}

}  // namespace

std::string LedgerHtml(const LedgerResult& result) {
  std::string page = kHead;
  std::size_t campaigns = 0, detected = 0;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      const EngineSummary s = Summarise(engine);
      campaigns += s.seeds;
      detected += s.detected;
    }
  }
  absl::StrAppend(
      &page, "<h1>Who finds which wrong kernel</h1>\n<p>",
      result.mutants.size(), " wrong and ", result.controls.size(),
      " right kernels; ", detected, " of ", campaigns, " campaigns found it; ",
      result.seeds, " seeds, at most ", result.inputs,
      " inputs a campaign, flavour ", MarkupText(result.flavour), ".",
      result.interrupted ? " <b>Interrupted: what was not run is missing.</b>"
                         : "",
      "</p>\n");
  AppendMatrix(result, page);
  AppendControls(result, page);
  absl::StrAppend(&page, "</body></html>\n");
  return page;
}

}  // namespace mlafuzz
