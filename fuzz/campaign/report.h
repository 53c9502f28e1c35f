#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// What the engine is, for reports.
struct BuildInfo {
  std::string compiler;
  std::string all_flags;     // of everything
  std::string kernel_flags;  // of what is under test, in addition
};
BuildInfo ReadBuildInfo(const Engine& engine);

// What to think of it, in a line: "2 findings", "nothing found", ...
std::string SummaryLine(const CampaignResult& result);

// Of a comparison that left cases out: how many, which side did not take them,
// and why not the first of them; several lines. Empty where none was.
std::string NotComparedText(const Totals& totals);

// report.json, schema 1: docs/report.md has its fields.
nlohmann::ordered_json ReportJson(const CampaignOptions& options,
                                  const CampaignResult& result,
                                  const BuildInfo& build);

// report.txt: one page for people.
std::string ReportText(const CampaignOptions& options,
                       const CampaignResult& result, const BuildInfo& build);

// Writes both into the output folder, and what is made of report.json:
// report.html, report.sarif, junit.xml and summary.md. Each is whole or not
// there; report.json comes last, so that where it is all are.
absl::Status WriteReports(const CampaignOptions& options,
                          const CampaignResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_H_
