#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SARIF_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SARIF_H_

#include <nlohmann/json.hpp>

namespace mlafuzz {

// report.sarif, SARIF 2.1.0 (OASIS), of report.json: one run; one rule a cause,
// whose id is the cause's key and whose help is its page of docs/causes; one
// result a finding, at its case's file in the output folder, with the finding's
// id as its partial fingerprint, so that a viewer knows it again tomorrow.
nlohmann::ordered_json Sarif(const nlohmann::ordered_json& report);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SARIF_H_
