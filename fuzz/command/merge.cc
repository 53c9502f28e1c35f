// mlafuzz merge

#include "fuzz/state/merge.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/state_flags.h"
#include "fuzz/state/records.h"

namespace mlafuzz {
namespace {

// Seeds of the plan of which no unit of the newest epoch is done.
absl::StatusOr<std::vector<std::string>> Missing(const State& state,
                                                 const Units& units,
                                                 const Plan& plan) {
  const auto epoch = NewestEpoch(state);
  if (!epoch.ok()) return epoch.status();
  std::set<std::uint64_t> done;
  for (const auto& [key, unit] : units.done) {
    if (epoch->has_value() && unit.key().epoch() == (*epoch)->id &&
        unit.key().cases() == plan.cases) {
      done.insert(unit.key().seed());
    }
  }
  std::vector<std::string> missing;
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    if (done.count(plan.first + i) == 0) {
      missing.push_back(absl::StrCat(plan.first + i));
    }
  }
  return missing;
}

// The first few, and that there are more.
std::string Some(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 10;
  const std::size_t shown = std::min(words.size(), kMost);
  return absl::StrCat(
      absl::StrJoin(absl::MakeConstSpan(words).subspan(0, shown), ", "),
      words.size() > kMost
          ? absl::StrCat(" and ", words.size() - kMost, " more")
          : "");
}

// What killed writers left in the state and its shards.
void Sweep(State& state, std::vector<State>& sources) {
  int removed = 0;
  std::vector<State*> all = {&state};
  for (State& source : sources) {
    // Others' states are read here, no more.
    if (absl::StartsWith(source.path(), state.path() + "/")) {
      all.push_back(&source);
    }
  }
  for (State* one : all) {
    const auto swept = one->SweepTemporaries();
    if (swept.ok()) {
      removed += *swept;
    } else {
      std::printf("note: not swept: %s\n",
                  std::string(swept.status().message()).c_str());
    }
  }
  if (removed > 0) {
    std::printf("removed %d temporary files of writers that were killed\n",
                removed);
  }
}

int Run(const Arguments& arguments, const std::string&) {
  const auto error = [](const absl::Status& s) {
    return UsageError(absl::StrCat("merge: ", s.message()));
  };
  auto state = ReadState(arguments);
  if (!state.ok()) return error(state.status());
  std::vector<State> sources;
  const auto shards = state->Shards();
  if (!shards.ok()) return error(shards.status());
  for (const std::string& name : *shards) {
    auto shard = state->OpenShard(name);
    if (!shard.ok()) return error(shard.status());
    sources.push_back(*std::move(shard));
  }
  for (const std::string& path : arguments.positional()) {
    auto other = State::Open(CallersPath(path));
    if (!other.ok()) return error(other.status());
    sources.push_back(*std::move(other));
  }
  if (sources.empty()) {
    return UsageError(absl::StrCat("merge: ", state->path(),
                                   " has no shards, and no state was named"));
  }
  Merged all;
  for (const State& source : sources) {
    const auto merged = Merge(source, *state);
    if (!merged.ok()) return error(merged.status());
    all.added += merged->added;
    all.known += merged->known;
    all.damaged.insert(all.damaged.end(), merged->damaged.begin(),
                       merged->damaged.end());
  }
  const auto units = ReadUnits(*state, sources);
  if (!units.ok()) return error(units.status());
  std::printf("merged %zu: %zu objects added, %zu known; %zu units\n",
              sources.size(), all.added, all.known, units->done.size());
  Sweep(*state, sources);
  int code = kExitNothingFound;
  std::vector<std::string> wrong = std::move(all.damaged);
  wrong.insert(wrong.end(), units->broken.begin(), units->broken.end());
  for (const std::string& line : wrong) {
    code = UsageError(absl::StrCat("merge: ", line));
  }
  if (arguments.Has("units")) {
    const auto plan = ReadPlan(arguments);
    if (!plan.ok()) return error(plan.status());
    const auto missing = Missing(*state, *units, *plan);
    if (!missing.ok()) return error(missing.status());
    if (!missing->empty()) {
      code = UsageError(
          absl::StrCat("merge: ", missing->size(), " of ", plan->count,
                       " units are not done, those of seed ", Some(*missing),
                       "; run their shards again, then merge again"));
    }
  }
  return code;
}

}  // namespace

Command MergeCommand() {
  std::vector<Flag> flags = {StateFlag()};
  for (const Flag& flag : PlanFlags()) flags.push_back(flag);
  return {"merge", "[STATE...]",
          "add a state's shards, and other states, to it; check that all "
          "units are done",
          flags, Run};
}

}  // namespace mlafuzz
