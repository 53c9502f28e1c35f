#ifndef MLAFUZZ_FUZZ_CAMPAIGN_SETTLE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_SETTLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"

namespace mlafuzz {

// Findings whose cause is settled; more at once have one root, as a rule.
inline constexpr std::size_t kMostSettled = 16;

// After fuzzing: of each finding that several causes explain, or one that a
// single case speaks for, further cases tell which it is (SETTLE of
// fuzz/worker/worker.proto). Findings that turn out to be one become one. Not
// of deaths, nor of differences between two targets: those have no other
// explanations. Ends with the campaign's time, and at a signal. `others`: names
// of findings that are not among these; what fails by them is theirs.
void SettleCauses(const CampaignOptions& options, FindingSet& findings,
                  Progress& progress,
                  const std::vector<std::string>& others = {});

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_SETTLE_H_
