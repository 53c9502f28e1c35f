#ifndef MLAFUZZ_FUZZ_TESTING_CAMPAIGNS_H_
#define MLAFUZZ_FUZZ_TESTING_CAMPAIGNS_H_

#include <string>

#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// A short campaign from an empty corpus, one job, with the engine that the
// environment variable ENGINE names (relative to the runfiles).
CampaignOptions ShortCampaign(const std::string& target,
                              const std::vector<std::string>& kernels);

// Runs it; a test failure and an empty result if it cannot run.
CampaignResult RunShort(const CampaignOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_TESTING_CAMPAIGNS_H_
