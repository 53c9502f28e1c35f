#include "fuzz/campaign/settle.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/campaign/unexplained.h"
#include "fuzz/worker/known_causes.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// Joins what nothing explains; the cases of what was joined go to the folder of
// the finding that stays.
void KeepShapes(const CampaignOptions& options, std::vector<Finding>& findings,
                Progress& progress) {
  for (const Finding& gone : JoinUnexplained(findings)) {
    for (Finding& finding : findings) {
      for (Finding::Shape& shape : finding.shapes) {
        if (shape.key != gone.failure.key() || !shape.case_file.empty()) {
          continue;
        }
        shape.case_file =
            SaveCase(options, finding, absl::StrCat("shape-", gone.id),
                     gone.case_binary);
        progress.Joined(gone.id, finding);
      }
    }
    RemoveFinding(options, gone.id);
  }
  for (Finding& finding : findings) {
    if (!finding.shapes.empty()) SaveExplanation(options, finding);
  }
}

}  // namespace

void SettleCauses(const CampaignOptions& options, FindingSet& findings,
                  Progress& progress, const std::vector<std::string>& others) {
  if (options.other.has_value()) return;
  std::size_t settled = 0;
  for (std::size_t i = 0; i < findings.all().size(); ++i) {
    const Finding& finding = findings.all()[i];
    const double left = SecondsLeft(options);
    if (StopSignals() > 0 || left <= 0 || settled >= kMostSettled) break;
    if (finding.death || finding.failure.verdict() == "protocol") continue;
    ++settled;
    progress.FollowUp(finding, "settling");
    WorkRequest request = RequestFor(options, WorkRequest::SETTLE);
    request.add_cases(finding.case_binary);
    const CauseKeys keys = KeysOf(finding.failure);
    request.mutable_explanations()->Assign(keys.begin(), keys.end());
    request.mutable_possible()->Assign(keys.possible.begin(),
                                       keys.possible.end());
    for (std::size_t j = 0; j < findings.all().size(); ++j) {
      if (j != i) request.add_other_findings(findings.all()[j].failure.key());
    }
    for (const std::string& other : others) request.add_other_findings(other);
    request.set_by_relation(IsRelation(finding.failure.property()));
    request.set_seed(options.seed);
    request.set_seconds(std::min(options.settle_seconds, left));
    const auto result =
        SettleInWorker(options.engine, std::move(request), options.limits);
    // The finding stands as it was.
    if (!result.ok()) continue;
    std::string renamed;
    if (!findings.Settle(i, *result, &renamed)) continue;
    Finding& named = findings.all()[i];
    RemoveFinding(options, renamed);
    named.case_file = SaveCase(options, named, "case", named.case_binary);
    SaveExplanation(options, named);
    progress.Announce(named);
  }
  std::map<std::string, std::string> keys;  // by id
  for (const Finding& finding : findings.all()) {
    keys[finding.id] = finding.failure.key();
  }
  for (const std::string& id : findings.MergeAlike()) {
    RemoveFinding(options, id);
    for (const Finding& finding : findings.all()) {
      if (finding.failure.key() == keys[id]) progress.Joined(id, finding);
    }
  }
  KeepShapes(options, findings.all(), progress);
  progress.FollowUpDone();
}

}  // namespace mlafuzz
