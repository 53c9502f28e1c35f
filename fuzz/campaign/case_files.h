#ifndef MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// Writes findings/ID/NAME.txtpb, or NAME.bin for bytes that are no case.
// Returns the path relative to the output folder. If that fails it is empty,
// and finding.unwritten says why.
std::string SaveCase(const CampaignOptions& options, Finding& finding,
                     const std::string& name, absl::string_view binary);

// Removes findings/ID.
void RemoveFinding(const CampaignOptions& options, const std::string& id);

// Gives the finding and its folder another name, with all files in it. Where
// the folder cannot be renamed both stay, and finding.unwritten says why.
void RenameFinding(const CampaignOptions& options, Finding& finding,
                   const std::string& id);

// Writes findings/ID/explanation.txt, or says in finding.unwritten why not.
void SaveExplanation(const CampaignOptions& options, Finding& finding);

// The command that replays a finding's file, for the caller's folder; empty if
// it has none.
std::string ReplayCommand(const CampaignOptions& options,
                          const Finding& finding);

// A request with the campaign's targets.
WorkRequest RequestFor(const CampaignOptions& options, WorkRequest::Mode mode);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_CASE_FILES_H_
