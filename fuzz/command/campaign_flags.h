#ifndef MLAFUZZ_FUZZ_COMMAND_CAMPAIGN_FLAGS_H_
#define MLAFUZZ_FUZZ_COMMAND_CAMPAIGN_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/types.pb.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/options.h"
#include "fuzz/command/arguments.h"

namespace mlafuzz {

// How long, how many, from what, to where: of `campaign` and `diff --time`.
std::vector<Flag> CampaignFlags();

// The layout of pools that all of `kernels` take, on every side. Kernels that
// take others would be called with what they never promised to read, and look
// right: InvalidArgument, naming both.
absl::StatusOr<Layout> CommonLayout(const std::vector<Targets>& sides,
                                    const std::vector<std::string>& kernels);

// Fills in everything but the targets.
absl::Status ReadCampaignFlags(const Arguments& arguments,
                               CampaignOptions* options);

// Runs it, writes the reports, prints where they are; the exit code. `mark`
// says of its findings which were known before; null: nobody knows any.
int CampaignToExitCode(
    const CampaignOptions& options,
    const std::function<absl::Status(CampaignResult*)>& mark = nullptr);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CAMPAIGN_FLAGS_H_
