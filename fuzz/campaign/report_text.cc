#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/knobs.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/report.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/ulps.h"
#include "properties/fields.h"

namespace mlafuzz {
namespace {

std::size_t Index(Kernel kernel) { return static_cast<std::size_t>(kernel); }

std::string Indented(const std::string& text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty()) absl::StrAppend(&out, "    ", line, "\n");
  }
  return out;
}

// How sure the cause is.
std::string CauseText(const Finding& finding) {
  const Failure& f = finding.failure;
  std::string text;
  if (f.also_size() > 0) {
    absl::StrAppend(&text, "  one of: ", f.key(), ", ",
                    absl::StrJoin(f.also(), ", "), "\n");
  }
  if (finding.settled) {
    absl::StrAppend(&text, "  cause ",
                    !finding.withdrawn.empty() ? "unknown"
                    : f.also_size() > 0        ? "not settled"
                                               : "settled",
                    " by ", finding.heard, " further cases, ", finding.alike,
                    " of which fail ",
                    !finding.withdrawn.empty() ? "as this one may" : "by it");
    if (finding.others > 0) {
      absl::StrAppend(&text, " and ", finding.others, " otherwise");
    }
    text += "\n";
  }
  return text;
}

std::string FindingText(const CampaignOptions& options,
                        const Finding& finding) {
  const Failure& f = finding.failure;
  std::string text = absl::StrCat(
      "\n", finding.id, "\n  ", f.cause(), "\n  ", f.kernel(), ", ",
      f.property(), ": ", f.verdict(),
      f.field().empty() ? "" : absl::StrCat(", contract field ", f.field()),
      "\n  found after ", Grouped(finding.executions_to_find), " calls of ",
      f.kernel(), ", ", Grouped(finding.cases_to_find), " cases, ",
      absl::StrFormat("%.1f s", finding.seconds_to_find), "\n",
      CauseText(finding));
  if (!finding.muted.empty()) {
    absl::StrAppend(&text, "  muted by ", finding.muted, "\n");
  }
  if (finding.reruns > 0) {
    absl::StrAppend(&text, "  failed alike in ", finding.same, " of ",
                    finding.reruns, " fresh processes\n");
  }
  const std::string details =
      f.explanation().empty() ? f.detail() : f.explanation();
  if (!details.empty()) absl::StrAppend(&text, Indented(details));
  if (!finding.minimal_binary.empty()) {
    const auto c = ParseCaseBinary(finding.minimal_binary);
    if (c.ok()) {
      absl::StrAppend(&text, "  minimal case:\n", Indented(FormatCaseText(*c)));
    }
  }
  if (!finding.unwritten.empty()) {
    absl::StrAppend(
        &text, "  not all of its files are there: ", finding.unwritten, "\n");
    // Nowhere else, then.
    const auto c = ParseCaseBinary(finding.case_binary);
    if (c.ok() && finding.minimal_binary.empty()) {
      absl::StrAppend(&text, "  case:\n", Indented(FormatCaseText(*c)));
    }
  }
  for (const Finding::Shape& shape : finding.shapes) {
    absl::StrAppend(&text, "  also: ", shape.property, ": ", shape.cause,
                    shape.case_file.empty() ? "" : ", ", shape.case_file, "\n");
  }
  if (!finding.note.empty()) absl::StrAppend(&text, "  ", finding.note, "\n");
  if (!finding.known.empty()) {
    absl::StrAppend(&text, "  known before: ", finding.known, "\n");
  }
  const std::string replay = ReplayCommand(options, finding);
  absl::StrAppend(
      &text, "  replay: ",
      replay.empty() ? "write the case above to a file first" : replay, "\n");
  return text;
}

// Field by field: of the sampled steps of its kernel, how many could have seen
// another rule; the same of cases that were made for it.
std::string PowerText(const Totals& totals, Layout layout) {
  std::string text = absl::StrCat(
      "power: share of the sampled steps of its kernel that could have seen a "
      "change of the field (",
      Grouped(totals.power_samples), " cases were sampled)\n",
      "  field                      share  sampled   made for it  its share\n");
  std::vector<std::string> blind;
  const std::vector<Field>& fields = AllFields();
  for (std::size_t i = 0; i < fields.size() && i < kMaxFields; ++i) {
    if (!IsExpected(layout, fields[i].name, totals.power[i] > 0)) continue;
    const std::uint64_t steps = totals.power_steps[Index(fields[i].kernel)];
    if (steps == 0) continue;
    if (totals.power[i] == 0 && totals.made_informative[i] == 0) {
      blind.push_back(fields[i].name);
    }
    const auto percent = [](std::uint64_t part, std::uint64_t whole) {
      return whole == 0
                 ? std::string("-")
                 : absl::StrFormat("%.1f%%", 100.0 * static_cast<double>(part) /
                                                 static_cast<double>(whole));
    };
    absl::StrAppendFormat(
        &text, "  %-24s %7s %8s %12s %10s\n", fields[i].name,
        percent(totals.power[i], steps), Grouped(steps),
        Grouped(totals.made_for[i]),
        percent(totals.made_informative[i], totals.made_sampled[i]));
  }
  if (!blind.empty()) {
    absl::StrAppend(&text, "could not have seen: ", absl::StrJoin(blind, ", "),
                    "\n");
  }
  return text;
}

// Of a comparison: how far apart decodes were, element by element.
std::string DecodeDifferencesText(const Totals& totals) {
  std::string text;
  constexpr const char* kNames[] = {"outputs", "LSE"};
  for (std::size_t i = 0; i < totals.decode_ulps.size(); ++i) {
    UlpCounts ulps;
    ulps.counts = totals.decode_ulps[i];
    ulps.largest = static_cast<std::int64_t>(totals.decode_most_ulps[i]);
    const std::uint64_t all = ulps.counts[0] + ulps.different();
    if (all == 0) continue;
    absl::StrAppend(&text, "decodes, ", kNames[i], ": ", Grouped(all),
                    " elements, ", Grouped(ulps.counts[0]),
                    " equal; differ: ", ulps.Text(), "\n");
  }
  return text;
}

// What the campaign never did, so that silence is not taken for proof.
std::string GapsText(const CampaignOptions& options, const Totals& totals) {
  std::vector<std::string> knobs;
  const std::vector<Knob>& all = AllKnobs();
  for (std::size_t i = 0; i < all.size() && i < kMaxKnobs; ++i) {
    const bool under_test =
        std::find(options.kernels.begin(), options.kernels.end(),
                  KernelName(all[i].kernel)) != options.kernels.end();
    if (under_test && totals.knobs[i] == 0 &&
        KnobApplies(static_cast<int>(i), options.layout)) {
      knobs.push_back(all[i].name);
    }
  }
  std::string text =
      absl::StrCat("value classes never exercised: ",
                   knobs.empty() ? "none" : absl::StrJoin(knobs, ", "), "\n");
  // Of what other layouts' writers and gathers meet nobody has listed any.
  std::vector<std::string> not_counted;
  for (const std::string& kernel : options.kernels) {
    if (options.layout != FP8_DS_MLA &&
        (kernel == KernelName(Kernel::kWriter) ||
         kernel == KernelName(Kernel::kGather))) {
      not_counted.push_back(kernel);
    }
  }
  if (!not_counted.empty()) {
    absl::StrAppend(&text, "value classes: not counted for ",
                    absl::StrJoin(not_counted, ", "), " of ",
                    Layout_Name(options.layout), "\n");
  }
  return text + PowerText(totals, options.layout);
}

}  // namespace

std::string SummaryLine(const CampaignResult& result) {
  std::size_t n = 0;
  std::size_t known = 0;
  for (const Finding& finding : result.findings.all()) {
    ++(finding.known.empty() ? n : known);
  }
  std::string line;
  if (n > 0 || known > 0) {
    line = n == 0 ? std::string("nothing new found")
           : known > 0
               ? absl::StrCat(n, n == 1 ? " new finding" : " new findings")
               : absl::StrCat(n, n == 1 ? " finding" : " findings");
    if (known > 0) {
      absl::StrAppend(&line, ", ", known, " known before");
    }
  } else if (result.totals.failures != 0) {
    line = absl::StrCat(result.totals.failures,
                        " failing checks, of which no record arrived");
  } else if (NothingCompared(result.totals)) {
    line = absl::StrCat("nothing was compared: of ",
                        Grouped(result.totals.not_compared),
                        " cases none was taken by both targets");
  } else if (result.totals.informative == 0) {
    line =
        "nothing was informative: no check could have told a right kernel "
        "from a wrong one";
  } else {
    line = "nothing found";
  }
  if (result.totals.compared != 0 && result.totals.not_compared != 0) {
    absl::StrAppend(
        &line, "; ", Grouped(result.totals.not_compared), " of ",
        Grouped(result.totals.compared + result.totals.not_compared),
        " cases were not compared");
  }
  if (result.interrupted) absl::StrAppend(&line, " (stopped by a signal)");
  if (!result.error.empty()) {
    absl::StrAppend(&line, "; ended early: ", result.error);
  }
  return line;
}

std::string NotComparedText(const Totals& totals) {
  if (totals.not_compared == 0) return "";
  std::string text =
      absl::StrCat("not compared: ", Grouped(totals.not_compared), " of ",
                   Grouped(totals.compared + totals.not_compared), " cases\n");
  for (std::size_t side = 0; side < totals.not_taken.size(); ++side) {
    if (totals.not_taken[side] == 0) continue;
    absl::StrAppend(&text, "  ", Grouped(totals.not_taken[side]), " that ",
                    side == 0 ? "a" : "b",
                    " did not take, the first: ", totals.why_not_taken[side],
                    "\n");
  }
  return text;
}

std::string ReportText(const CampaignOptions& options,
                       const CampaignResult& result, const BuildInfo& build) {
  const Totals& totals = result.totals;
  std::string text = absl::StrCat(
      SummaryLine(result), "\n\ntarget ", TargetsText(options.targets),
      options.other.has_value()
          ? absl::StrCat(" against ", TargetsText(*options.other))
          : "",
      ", kernels ", absl::StrJoin(options.kernels, ","), "\ntier ",
      TierText(options.targets), "; flavour ", options.engine.flavour, ", ",
      build.compiler, "\nkernels built with ", build.kernel_flags, "\ncommand ",
      options.command, "\nseed ", options.seed, ", ", options.jobs,
      options.jobs == 1 ? " job\n" : " jobs\n");
  for (const std::string& way : options.targets.tensors()) {
    absl::StrAppend(&text, "tensors: ", way, "\n");
  }
  absl::StrAppendFormat(
      &text, "%s cases in %.1f s (%s/s), coverage %d, %s failing checks\n",
      Grouped(totals.cases), result.seconds,
      Grouped(result.seconds > 0
                  ? static_cast<std::uint64_t>(
                        static_cast<double>(totals.cases) / result.seconds)
                  : 0),
      totals.coverage, Grouped(totals.failures));
  for (const Kernel kernel : kAllKernels) {
    if (totals.executions[Index(kernel)] == 0) continue;
    absl::StrAppendFormat(
        &text, "  %-8s %12s distinct cases%s %12s calls\n", KernelName(kernel),
        Grouped(totals.distinct[Index(kernel)]),
        totals.distinct_estimated[Index(kernel)] ? " (estimated)" : "",
        Grouped(totals.executions[Index(kernel)]));
  }
  if (options.fuse > 1 && totals.cases > 0 && totals.fused == 0) {
    absl::StrAppend(&text, "fused: no case shared a call\n");
  }
  if (options.fuse > 1 && totals.fused > 0) {
    absl::StrAppendFormat(
        &text,
        "fused: %s cases in %s calls, of which %s passed on the device and %s "
        "ran alone, too; %s cases shared no call, or one that told nothing: %s "
        "such calls ended badly; %s cases wrong among others alone, %s without "
        "others alone\n",
        Grouped(totals.fused), Grouped(totals.fused_calls),
        Grouped(totals.fused_lent), Grouped(totals.fused_rerun),
        Grouped(totals.fused_alone), Grouped(totals.fused_untold),
        Grouped(totals.only_fused), Grouped(totals.only_alone));
  }
  absl::StrAppend(&text, "verdicts\n");
  for (int v = 0; v < kVerdictCount; ++v) {
    const std::uint64_t n = totals.verdicts[static_cast<std::size_t>(v)];
    if (n == 0) continue;
    absl::StrAppendFormat(&text, "  %-14s %12s\n",
                          VerdictName(static_cast<Verdict>(v)), Grouped(n));
  }
  if (result.slow_cases > 0) {
    absl::StrAppend(&text, result.slow_cases,
                    " cases were slow, but ended when given more time\n");
  }
  for (const auto* notes : {&options.notes, &result.notes}) {
    for (const std::string& note : *notes) {
      absl::StrAppend(&text, "note: ", note, "\n");
    }
  }
  for (const std::string& incident : result.incidents) {
    absl::StrAppend(&text, "from outside: ", incident, "\n");
  }
  if (!result.known.empty()) absl::StrAppend(&text, "known causes\n");
  for (const KnownCause& cause : result.known) {
    absl::StrAppend(
        &text, "  ", StageName(cause.stage), "/", cause.id, ": ", cause.news,
        cause.muted.empty() ? "" : "; muted by " + cause.muted, "\n");
  }
  for (const Finding& finding : result.findings.all()) {
    absl::StrAppend(&text, FindingText(options, finding));
  }
  absl::StrAppend(&text, NotComparedText(totals), DecodeDifferencesText(totals),
                  "\n", GapsText(options, totals));
  return text;
}

}  // namespace mlafuzz
