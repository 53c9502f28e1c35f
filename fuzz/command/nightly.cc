// mlafuzz nightly

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/night_run.h"
#include "fuzz/command/shard.h"
#include "fuzz/nightly/config.h"
#include "fuzz/nightly/news.h"
#include "fuzz/nightly/nights.h"
#include "fuzz/nightly/shares.h"
#include "fuzz/state/records.h"

namespace mlafuzz {
namespace {

// --since: no night, only what has changed between two.
absl::StatusOr<int> Since(const std::string& text, const State& state) {
  const std::uint64_t last = LastNight(state.path());
  std::uint64_t since = 0;
  if (text == "last") {
    since = last > 0 ? last - 1 : 0;
  } else if (!absl::SimpleAtoi(text, &since) || since > last) {
    return absl::InvalidArgumentError(
        absl::StrCat("--since needs a night, 0 to ", last,
                     ", or \"last\", got \"", text, "\""));
  }
  const auto then = KnownCausesOf(state.path(), since);
  if (!then.ok()) return then.status();
  const auto now = KnownCausesOf(state.path(), last);
  if (!now.ok()) return now.status();
  const auto causes = CausesOf(state, *then, last);
  if (!causes.ok()) return causes.status();
  const Changes changes = ChangesSince(*causes, *then, *now);
  for (const auto& [what, lines] :
       {std::pair("new", &changes.fresh), std::pair("back", &changes.back),
        std::pair("gone", &changes.gone)}) {
    std::printf("%s since night %llu:%s\n%s", what,
                static_cast<unsigned long long>(since),
                lines->empty() ? " nothing" : "", lines->c_str());
  }
  return changes.fresh.empty() && changes.back.empty() ? kExitNothingFound
                                                       : kExitFound;
}

// Makes the state if it is not there, or not whole because that was cut.
absl::StatusOr<State> StateWithEpoch(const std::string& path) {
  auto state = State::OpenOrMake(path);
  if (!state.ok()) return state;
  const auto epoch = NewestEpoch(*state);
  if (!epoch.ok()) return epoch.status();
  if (!epoch->has_value() &&
      RunCommandLine({"corpus", "import", absl::StrCat("--state=", path)}) !=
          kExitNothingFound) {
    return absl::UnavailableError("the state above could not be made");
  }
  return state;
}

// Adds to the units of each work its part of those that all share. What decides
// is the night before: whoever runs a part of this one finds the same.
absl::Status AddShares(const NightConfig& config, const State& state,
                       std::uint64_t night, std::vector<Ready>& work) {
  if (config.shared_units() == 0) return absl::OkStatus();
  std::vector<WorkName> names;
  for (const Ready& one : work) names.push_back({one.name(), one.kernels});
  const auto yields = YieldsOf(state, night - 1, names);
  if (!yields.ok()) return yields.status();
  const std::vector<std::uint64_t> shares =
      ShareUnits(config.shared_units(), *yields);
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::printf("share: %s: %llu of %llu units; night %llu: %s\n",
                names[i].targets.c_str(),
                static_cast<unsigned long long>(shares[i]),
                static_cast<unsigned long long>(config.shared_units()),
                static_cast<unsigned long long>(night - 1),
                YieldText((*yields)[i]).c_str());
    work[i].work.set_units(work[i].work.units() + shares[i]);
  }
  std::fflush(stdout);
  return absl::OkStatus();
}

// --shard: of the next night's units, or of those of one that was cut, this
// part; nothing else of a night. Whoever runs the night finds them done.
absl::StatusOr<int> RunShard(const Arguments& arguments,
                             const std::vector<Ready>& work,
                             const State& state) {
  const auto shard = ReadShard(arguments);
  if (!shard.ok()) return shard.status();
  const std::uint64_t night = LastNight(state.path()) + 1;
  std::printf("mlafuzz: units of night %llu, shard %llu of %llu\n",
              static_cast<unsigned long long>(night),
              static_cast<unsigned long long>(shard->index),
              static_cast<unsigned long long>(shard->count));
  std::fflush(stdout);
  for (const Ready& one : work) {
    const int code = RunCommandLine(UnitWords(state, one, night, *shard));
    if (code == kExitUsage) {
      return absl::UnavailableError("the units above did not all run");
    }
  }
  // What they found is the night's business.
  return kExitNothingFound;
}

absl::StatusOr<int> RunNightly(const Arguments& arguments) {
  if (!arguments.positional().empty() || arguments.Get("config").empty()) {
    return absl::InvalidArgumentError(
        "needs --config=FILE and no other argument");
  }
  const auto text = ReadFile(CallersPath(arguments.Get("config")));
  if (!text.ok()) return text.status();
  const auto config = ParseNightConfig(*text);
  if (!config.ok()) {
    return absl::Status(
        config.status().code(),
        absl::StrCat(arguments.Get("config"), ": ", config.status().message()));
  }
  const std::string path = CallersPath(config->state());
  if (arguments.Has("since")) {
    const auto state = State::Open(path);
    if (!state.ok()) return state.status();
    return Since(arguments.Get("since"), *state);
  }
  std::vector<Ready> work;
  for (int i = 0; i < config->work_size(); ++i) {
    auto ready = MakeReady(config->work(i));
    if (!ready.ok()) {
      return absl::Status(
          ready.status().code(),
          absl::StrCat("work[", i, "]: ", ready.status().message()));
    }
    work.push_back(*std::move(ready));
  }
  const bool shard = arguments.Has("shard") || arguments.Has("shards");
  // A night that was begun goes on with whatever config comes next, so what
  // would end it for good is told before. A shard reads no regressions.
  absl::Status usable = CheckGate(*config);
  if (usable.ok() && !shard) usable = CheckRegressions(*config);
  if (!usable.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(arguments.Get("config"), ": ", usable.message()));
  }
  CatchStopSignals();
  auto state = StateWithEpoch(path);
  if (!state.ok()) return state.status();
  if (shard) {
    const std::uint64_t next = LastNight(state->path()) + 1;
    if (absl::Status s = AddShares(*config, *state, next, work); !s.ok()) {
      return s;
    }
    return RunShard(arguments, work, *state);
  }
  auto night = Night::Begin(path);
  if (!night.ok()) return night.status();
  if (absl::Status s = AddShares(*config, *state, night->number(), work);
      !s.ok()) {
    return s;
  }
  std::printf("mlafuzz: night %llu%s\n",
              static_cast<unsigned long long>(night->number()),
              night->resumed() ? ", which was cut, goes on" : "");
  std::fflush(stdout);
  return RunNight(*config, work, *state, *std::move(night));
}

int Run(const Arguments& arguments, const std::string&) {
  const auto code = RunNightly(arguments);
  if (code.ok()) return *code;
  return UsageError(absl::StrCat(
      "nightly: ", code.status().message(),
      absl::IsCancelled(code.status()) || absl::IsUnavailable(code.status())
          ? "; the same command goes on with this night"
          : ""));
}

}  // namespace

Command NightlyCommand() {
  return {"nightly",
          "",
          "a whole night: replay, fuzz, ledger gate, minimise, report, prune",
          {{"config", "FILE", "what to do (docs/nightly.md)"},
           {"since", "N|last",
            "run nothing; print what is new, back or gone since night N"},
           {"shard", "I",
            "run nothing but this part of the next night's units, 0 to N-1"},
           {"shards", "N", "how many parts there are"}},
          Run};
}

}  // namespace mlafuzz
