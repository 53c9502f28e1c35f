#include "fuzz/campaign/met.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/followup.h"
#include "fuzz/campaign/settle.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/settlement.h"

namespace mlafuzz {
namespace {

bool Shares(const CauseKeys& keys, const CauseKeys& others) {
  const auto has = [](const std::vector<std::string>& all,
                      const std::string& key) {
    return std::find(all.begin(), all.end(), key) != all.end();
  };
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return has(others, key) || has(others.possible, key);
  });
}

bool IsKnown(const Finding& met, const std::vector<Finding>& findings) {
  const CauseKeys keys = KeysOf(met.failure);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.key_of_case() == met.failure.key() ||
           Shares(keys, KeysOf(f.failure));
  });
}

}  // namespace

bool IsOfItsOwn(const Finding& met, const std::vector<Finding>& findings) {
  return met.settled && met.withdrawn.empty() && !met.failure.field().empty() &&
         met.failure.also().empty() && met.contradicted == 0 &&
         met.alike >= Settlement::kEnoughForClaim && !IsKnown(met, findings);
}

void AddWhatWasMet(const CampaignOptions& options, std::vector<Finding> met,
                   std::vector<Finding>& findings, Totals* totals,
                   Progress& progress) {
  if (options.other.has_value()) return;
  std::vector<std::string> names, ids;
  for (const Finding& finding : findings) {
    names.push_back(finding.failure.key());
    ids.push_back(finding.id);
  }
  // Settling writes and removes files by name: those of findings stay.
  FindingSet set(std::move(ids));
  for (Finding& one : met) {
    if (one.failure.field().empty() || IsKnown(one, findings)) continue;
    set.Add(std::move(one));
  }
  if (set.empty()) return;
  CampaignOptions quiet = options;
  quiet.quiet = true;  // none of them is a finding yet
  Progress silent(quiet);
  SettleCauses(quiet, set, silent, names);
  std::vector<Finding> own;
  for (Finding& one : set.all()) {
    if (!IsOfItsOwn(one, findings)) {
      RemoveFinding(options, one.id);  // what settling has saved
      continue;
    }
    one.case_file = SaveCase(options, one, "case", one.case_binary);
    SaveExplanation(options, one);
    progress.Announce(one);
    own.push_back(std::move(one));
  }
  // What is met on their way is nothing new.
  FollowUp(options, own, totals, progress, /*met=*/nullptr);
  for (Finding& one : own) findings.push_back(std::move(one));
}

}  // namespace mlafuzz
