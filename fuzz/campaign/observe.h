#ifndef MLAFUZZ_FUZZ_CAMPAIGN_OBSERVE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_OBSERVE_H_

#include <cstddef>
#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"

namespace mlafuzz {

// Findings that are observed; more have no pictures and no reproducers.
inline constexpr std::size_t kMostObserved = 50;

// After all else is known of the findings: runs the smallest case of each once
// more, in a process of its own, and keeps what it left behind
// (Finding::evidence), for pictures and reproducers. Not of differences between
// two targets, whose case may be right by the oracle. Ends with the campaign's
// time, and at a signal; what is not done is said in `evidence_note`.
void ObserveFindings(const CampaignOptions& options,
                     std::vector<Finding>& findings, Progress& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_OBSERVE_H_
