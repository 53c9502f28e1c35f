#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_JUNIT_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_JUNIT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace mlafuzz {

// junit.xml, as CI systems read it, of report.json: one suite; a test case for
// each finding, failed (an error, if its process died), then one for each
// kernel under test of which nothing was found, and one for the campaign, which
// is an error if it ended early and skipped if nothing was informative.
std::string JunitXml(const nlohmann::ordered_json& report);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_JUNIT_H_
