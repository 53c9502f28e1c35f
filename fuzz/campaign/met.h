#ifndef MLAFUZZ_FUZZ_CAMPAIGN_MET_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_MET_H_

#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/totals.h"

namespace mlafuzz {

// Whether a failure that a smaller case showed while another was minimised is
// taken for a fault of its own, once it is settled. Small cases leave many
// explanations, and one that fits may do so by chance: so it has to be a rule
// by which Settlement::kEnoughForClaim further cases fail, that no case in
// which it should show contradicts, and that is neither withdrawn nor the name
// of a finding.
bool IsOfItsOwn(const Finding& met, const std::vector<Finding>& findings);

// Adds those of `met` to `findings`, rerun and minimised as they are. Of what
// shares an explanation with a finding, or is not settled in time, nothing is
// added.
void AddWhatWasMet(const CampaignOptions& options, std::vector<Finding> met,
                   std::vector<Finding>& findings, Totals* totals,
                   Progress& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_MET_H_
