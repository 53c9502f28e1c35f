#ifndef MLAFUZZ_FUZZ_CAMPAIGN_FOLLOWUP_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_FOLLOWUP_H_

#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/totals.h"

namespace mlafuzz {

// Reruns of a finding before it is minimised.
inline constexpr int kReruns = 3;
// Findings that are minimised; more at once have one root, as a rule.
inline constexpr std::size_t kMostMinimised = 16;

// After fuzzing: each finding is rerun in fresh processes (verdict flaky if it
// does not fail the same way each time, with the company in which it came) and
// minimised, keeping its cause; what a fresh process does not confirm is no
// minimal case. A signal or options.limits.until ends this; what is not done is
// said in `note`. `met`, if not null, gets the failures by other causes that
// smaller cases showed on the way (fuzz/campaign/met.h).
void FollowUp(const CampaignOptions& options, std::vector<Finding>& findings,
              Totals* totals, Progress& progress, std::vector<Finding>* met);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_FOLLOWUP_H_
