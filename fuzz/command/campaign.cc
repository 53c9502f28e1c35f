// mlafuzz campaign

#include "absl/strings/str_cat.h"
#include "fuzz/command/campaign_flags.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/target_flags.h"

namespace mlafuzz {
namespace {

int Run(const Arguments& arguments, const std::string& typed) {
  const auto error = [](const absl::Status& s) {
    return UsageError(absl::StrCat("campaign: ", s.message()));
  };
  CampaignOptions options;
  options.command = typed;
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return error(targets.status());
  options.targets = *targets;
  auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return error(kernels.status());
  options.kernels = *std::move(kernels);
  if (absl::Status s = ReadCampaignFlags(arguments, &options); !s.ok()) {
    return error(s);
  }
  return CampaignToExitCode(options);
}

}  // namespace

Command CampaignCommand() {
  return {"campaign", "", "fuzz kernels; report what is found",
          WithTargetFlags(CampaignFlags()), Run};
}

}  // namespace mlafuzz
