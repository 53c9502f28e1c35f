#include "fuzz/campaign/report/step_summary.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string Word(const Json& json, const char* name) {
  return MarkdownText(json.at(name).get<std::string>());
}

std::string ReliabilityText(const Json& finding) {
  if (finding.at("reruns") == 0) return "not rerun";
  return absl::StrCat(finding.at("reruns_failed_alike").get<int>(), " of ",
                      finding.at("reruns").get<int>());
}

}  // namespace

std::string StepSummary(const Json& report, std::size_t most) {
  const Json& findings = report.at("findings");
  std::string text = absl::StrCat(
      "## mlafuzz: ", Word(report, "summary"), "\n\n", Word(report, "target"),
      ", tier ", Word(report, "tier"), ", flavour ", Word(report, "flavour"),
      ", seed ", report.at("seed").get<std::uint64_t>(), ": ",
      report.at("cases").get<std::uint64_t>(), " cases in ",
      absl::StrFormat("%.1f", report.at("seconds").get<double>()), " s.\n");
  if (!findings.empty()) {
    absl::StrAppend(&text,
                    "\n| finding | cause | verdict | fails alike |\n"
                    "| --- | --- | --- | --- |\n");
  }
  for (std::size_t i = 0; i < findings.size() && i < most; ++i) {
    const Json& finding = findings[i];
    absl::StrAppend(&text, "| ", Word(finding, "id"), " | ",
                    Word(finding, "cause"), " | ", Word(finding, "kernel"), " ",
                    Word(finding, "verdict"),
                    finding.contains("known") ? " (known before)" : "", " | ",
                    ReliabilityText(finding), " |\n");
  }
  if (findings.size() > most) {
    absl::StrAppend(&text, "\n", findings.size() - most,
                    " more findings are in report.html.\n");
  }
  if (!findings.empty()) {
    absl::StrAppend(&text, "\nReplay the first: <code>",
                    Word(findings[0], "replay"), "</code>\n");
  }
  for (const Json& note : report.at("notes")) {
    absl::StrAppend(&text, "\nNote: ", MarkdownText(note.get<std::string>()),
                    "\n");
  }
  return text;
}

}  // namespace mlafuzz
