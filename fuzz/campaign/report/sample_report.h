#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SAMPLE_REPORT_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SAMPLE_REPORT_H_

#include <nlohmann/json.hpp>

#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// A report.json of two findings whose words are hostile: "<script>", quotes,
// line ends, bytes that are no text.
nlohmann::ordered_json SampleReport();

// Of its first finding: 128 wrong bytes at the end of slot 1 of two.
Evidence SampleEvidence();

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_SAMPLE_REPORT_H_
