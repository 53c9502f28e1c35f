#include "fuzz/worker/known_causes.h"

#include <algorithm>

namespace mlafuzz {
namespace {

bool Contains(const CauseKeys& keys, absl::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Of `keys` those that are among `others`, each once.
CauseKeys Common(const CauseKeys& keys, const CauseKeys& others) {
  CauseKeys common;
  for (const std::string& key : keys) {
    if (Contains(others, key) && !Contains(common, key)) common.push_back(key);
  }
  return common;
}

}  // namespace

CauseKeys KeysOf(const Failure& failure) {
  CauseKeys keys = {failure.key()};
  keys.insert(keys.end(), failure.also().begin(), failure.also().end());
  return keys;
}

bool Explains(const Failure& failure, absl::string_view cause) {
  return Contains(KeysOf(failure), cause);
}

KnownCauses::Result KnownCauses::Find(const CauseKeys& keys) const {
  Result result = {Match::kNew, 0};
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const std::size_t common = Common(causes_[i], keys).size();
    if (common == causes_[i].size()) return {Match::kKnown, i};
    if (common > 0 && result.match == Match::kNew) {
      result = {Match::kNarrower, i};
    }
  }
  return result;
}

KnownCauses::Result KnownCauses::Learn(const CauseKeys& keys) {
  Result result = Find(keys);
  if (result.match == Match::kNew) {
    result.number = causes_.size();
    causes_.push_back(Common(keys, keys));
  } else if (result.match == Match::kNarrower) {
    causes_[result.number] = Common(keys, causes_[result.number]);
  }
  return result;
}

}  // namespace mlafuzz
