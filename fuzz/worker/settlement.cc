#include "fuzz/worker/settlement.h"

#include <algorithm>
#include <utility>

namespace mlafuzz {
namespace {

bool Contains(const CauseKeys& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Settlement::Settlement(CauseKeys explanations)
    : unproven_(explanations.possible.begin(), explanations.possible.end()) {
  explanations.possible.clear();
  left_ = std::move(explanations);
}

bool Settlement::Fails(const CauseKeys& explanations, bool says_little) {
  CauseKeys common;
  for (const std::string& cause : left_) {
    if (Contains(explanations, cause)) common.push_back(cause);
  }
  // Of what was possible: explained by it now, still possible, or ruled out.
  CauseKeys still;
  CauseKeys proven;
  bool proof = false;
  for (const std::string& cause : unproven_) {
    if (Contains(explanations, cause)) {
      proof = true;
      (++proofs_[cause] < kProofs ? still : proven).push_back(cause);
    } else if (std::find(explanations.possible.begin(),
                         explanations.possible.end(),
                         cause) != explanations.possible.end()) {
      still.push_back(cause);
    }
  }
  if (common.empty() && !proof) {
    ++others_;
    return false;
  }
  unproven_ = std::move(still);
  if (!proven.empty()) {
    left_ = std::move(proven);
  } else if (!common.empty()) {
    left_ = std::move(common);
  }
  ++alike_;
  if (!says_little) ++telling_;
  return true;
}

void Settlement::RuledOut(const std::string& cause) { ++ruled_out_[cause]; }

void Settlement::Dies(const std::string& cause) {
  if (!Contains(unproven_, cause)) return;
  ++deaths_[cause];
  ProveForetellers();
}

void Settlement::Lives(const std::string& cause) {
  if (!Contains(unproven_, cause)) return;
  ++lives_[cause];
  ProveForetellers();
}

void Settlement::IsWrong(const std::string& cause) {
  unproven_.erase(std::remove(unproven_.begin(), unproven_.end(), cause),
                  unproven_.end());
}

void Settlement::ProveForetellers() {
  CauseKeys proven;
  CauseKeys still;
  for (const std::string& cause : unproven_) {
    const bool foretells =
        deaths_[cause] >= kForetold && lives_[cause] >= kForetold;
    (foretells ? proven : still).push_back(cause);
  }
  if (proven.empty()) return;
  left_ = std::move(proven);
  unproven_ = std::move(still);
}

int Settlement::contradicted(const std::string& cause) const {
  const auto known = ruled_out_.find(cause);
  return known == ruled_out_.end() ? 0 : known->second;
}

}  // namespace mlafuzz
