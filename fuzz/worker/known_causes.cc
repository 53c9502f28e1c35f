#include "fuzz/worker/known_causes.h"

#include <algorithm>

namespace mlafuzz {
namespace {

bool Contains(const std::vector<std::string>& keys, absl::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void AddOnce(const std::string& key, std::vector<std::string>& keys) {
  if (!Contains(keys, key)) keys.push_back(key);
}

bool Meet(const std::vector<std::string>& keys,
          const std::vector<std::string>& others) {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return Contains(others, key);
  });
}

// What may be the cause of both, in the order of `keys`.
CauseKeys Common(const CauseKeys& keys, const CauseKeys& cause) {
  CauseKeys common;
  for (const std::string& key : keys) {
    if (Contains(cause, key) || Contains(cause.possible, key)) {
      AddOnce(key, common);
    }
  }
  for (const std::string& key : keys.possible) {
    if (Contains(cause, key)) {
      AddOnce(key, common);
    } else if (Contains(cause.possible, key)) {
      AddOnce(key, common.possible);
    }
  }
  return common;
}

}  // namespace

CauseKeys KeysOf(const Failure& failure) {
  CauseKeys keys = {failure.key()};
  keys.insert(keys.end(), failure.also().begin(), failure.also().end());
  keys.possible.assign(failure.possible().begin(), failure.possible().end());
  return keys;
}

bool Explains(const Failure& failure, absl::string_view cause) {
  return Contains(KeysOf(failure), cause);
}

KnownCauses::Result KnownCauses::Find(const CauseKeys& keys) const {
  Result result = {Match::kNew, 0};
  Result weak = {Match::kNew, 0};
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const CauseKeys& cause = causes_[i];
    if (!Meet(keys, cause) && !Meet(keys, cause.possible)) {
      if (weak.match == Match::kNew &&
          (Meet(keys.possible, cause) || Meet(keys.possible, cause.possible))) {
        weak = {Match::kKnown, i};
      }
      continue;
    }
    const CauseKeys common = Common(keys, cause);
    if (common.size() == cause.size() &&
        common.possible.size() == cause.possible.size()) {
      return {Match::kKnown, i};
    }
    if (result.match == Match::kNew) result = {Match::kNarrower, i};
  }
  return result.match == Match::kNew ? weak : result;
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
