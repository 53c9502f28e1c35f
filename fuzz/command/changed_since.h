#ifndef MLAFUZZ_FUZZ_COMMAND_CHANGED_SINCE_H_
#define MLAFUZZ_FUZZ_COMMAND_CHANGED_SINCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/options.h"
#include "fuzz/command/arguments.h"
#include "fuzz/worker/known_causes.h"

namespace mlafuzz {

// `campaign --changed-since=REV`: a campaign on a change, of which only what is
// new counts.

// --changed-since and what belongs to it.
std::vector<Flag> ChangedSinceFlags();

// A cause that was known before the change.
struct EarlierCause {
  CauseKeys keys;
  std::string where;  // "regressions/a.txtpb at main", "night 12 of ci/state"
};

class ChangedSince {
 public:
  // Reads the tree, the map of paths and what was known; narrows
  // options->kernels to those that the change may concern unless --kernels was
  // given, and adds the regressions of the work tree to what is run first.
  // `options` has engine, targets, kernels, layout and limits.
  static absl::StatusOr<ChangedSince> Prepare(const Arguments& arguments,
                                              CampaignOptions* options);

  // Lines for people: what changed, which kernels it concerns and why, what was
  // known.
  const std::vector<std::string>& lines() const { return lines_; }
  // The same in a sentence, for reports.
  std::string summary() const;
  // The change concerns none of the kernels under test.
  bool nothing_to_do() const { return nothing_to_do_; }

  // Gives each finding that was known before its `known`. With --base that is
  // what its case does there, and nothing else.
  absl::Status Mark(const CampaignOptions& options,
                    CampaignResult* result) const;

 private:
  absl::Status ReadChange(const Arguments& arguments, CampaignOptions* options);
  absl::Status ReadState(const Arguments& arguments,
                         const CampaignOptions& options);
  absl::Status ReadRegressions(const Arguments& arguments,
                               CampaignOptions* options);

  std::string revision_;
  std::vector<std::string> lines_;
  bool nothing_to_do_ = false;
  std::vector<EarlierCause> known_;
  std::vector<Targets> base_;  // none or one
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CHANGED_SINCE_H_
