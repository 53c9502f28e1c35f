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
    // One that may be so by a cause that is left does not speak against it.
    const bool possible =
        std::any_of(left_.begin(), left_.end(), [&](const std::string& cause) {
          return std::find(explanations.possible.begin(),
                           explanations.possible.end(),
                           cause) != explanations.possible.end();
        });
    others_ += possible ? 0 : 1;
    return false;
  }
  unproven_ = std::move(still);
  if (!proven.empty()) {
    // Beside what has explained every case so far; a later one tells them
    // apart.
    common.insert(common.end(), proven.begin(), proven.end());
    left_ = std::move(common);
  } else if (!common.empty()) {
    left_ = std::move(common);
  }
  ++alike_;
  if (!says_little) ++telling_;
  return true;
}

void Settlement::RuledOut(const std::string& cause) { ++ruled_out_[cause]; }

void Settlement::Dies(const std::string& cause) {
  if (!Contains(unproven_, cause) && !Contains(left_, cause)) return;
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
  // Beside claims that foretell as many.
  CauseKeys left;
  for (const std::string& cause : left_) {
    if (deaths_[cause] >= kForetold) left.push_back(cause);
  }
  left.insert(left.end(), proven.begin(), proven.end());
  left_ = std::move(left);
  unproven_ = std::move(still);
}

bool Settlement::IsHalfProven() const {
  return std::any_of(
      unproven_.begin(), unproven_.end(), [this](const std::string& cause) {
        const auto deaths = deaths_.find(cause);
        return proofs_.find(cause) != proofs_.end() ||
               (deaths != deaths_.end() && deaths->second >= kProofs);
      });
}

int Settlement::contradicted(const std::string& cause) const {
  const auto known = ruled_out_.find(cause);
  return known == ruled_out_.end() ? 0 : known->second;
}

}  // namespace mlafuzz
