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

// report.json, schema 1. See schema.h for its fields.
nlohmann::ordered_json ReportJson(const CampaignOptions& options,
                                  const CampaignResult& result,
                                  const BuildInfo& build);

// report.txt: one page for people.
std::string ReportText(const CampaignOptions& options,
                       const CampaignResult& result, const BuildInfo& build);

// Writes both into the output folder.
absl::Status WriteReports(const CampaignOptions& options,
                          const CampaignResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_H_
