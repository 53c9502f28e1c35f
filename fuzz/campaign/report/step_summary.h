#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_STEP_SUMMARY_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_STEP_SUMMARY_H_

#include <nlohmann/json.hpp>
#include <string>

namespace mlafuzz {

// summary.md of report.json: what to think of the campaign in a screen of
// GitHub's Markdown, for a job's summary. `most` findings at most are listed
// (GitHub refuses summaries above 1 MiB); how many are not is said.
std::string StepSummary(const nlohmann::ordered_json& report,
                        std::size_t most = 50);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_STEP_SUMMARY_H_
