#ifndef MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// Writes findings/ID/NAME.txtpb, or NAME.bin for bytes that are no case.
// Returns the path relative to the output folder, empty if it failed.
std::string SaveCase(const CampaignOptions& options, const Finding& finding,
                     const std::string& name, absl::string_view binary);

// Removes findings/ID.
void RemoveFinding(const CampaignOptions& options, const std::string& id);

// Writes findings/ID/explanation.txt.
void SaveExplanation(const CampaignOptions& options, const Finding& finding);

// The command that replays a finding's file, for the caller's folder.
std::string ReplayCommand(const CampaignOptions& options,
                          const Finding& finding);

// A request with the campaign's targets.
WorkRequest RequestFor(const CampaignOptions& options, WorkRequest::Mode mode);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_
