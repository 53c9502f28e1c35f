// mlafuzz unit

#include "fuzz/state/unit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/shard.h"
#include "fuzz/command/state_flags.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/state/records.h"
#include "fuzz/worker/foreign.h"
#include "kernels/foreign/program_files.h"

namespace mlafuzz {
namespace {

// Ids of the programs in which targets run that do not run in the engine: of
// all that there are, since which of them a target takes is the engine's
// business.
absl::StatusOr<std::vector<std::string>> RunnerIds(const Targets& targets) {
  std::vector<std::string> ids;
  if (!AnyForeign(targets)) return ids;
  for (const auto& path : {FindRunner(/*device=*/false),
                           FindRunner(/*device=*/true), FindPythonRunner()}) {
    if (!path.ok()) continue;  // not built in
    const auto bytes = ReadFile(*path);
    if (!bytes.ok()) return bytes.status();
    ids.push_back(ContentId(*bytes));
    if (!absl::EndsWith(*path, ".py")) continue;
    // The modules beside it.
    std::error_code error;
    for (std::filesystem::directory_iterator
             it(std::filesystem::path(*path).parent_path(), error),
         end;
         !error && it != end; it.increment(error)) {
      if (it->path().extension() != ".py") continue;
      const auto module = ReadFile(it->path().string());
      if (!module.ok()) return module.status();
      ids.push_back(ContentId(*module));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

struct Setup {
  State state;
  Plan plan;
  Shard shard;
  UnitOptions options;
};

absl::StatusOr<Setup> ReadSetup(const Arguments& arguments) {
  if (!arguments.positional().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "takes no argument, got \"", arguments.positional()[0], "\""));
  }
  auto state = ReadState(arguments);
  if (!state.ok()) return state.status();
  const auto plan = ReadPlan(arguments);
  if (!plan.ok()) return plan.status();
  auto shard = ReadShard(arguments);
  if (!shard.ok()) return shard.status();
  UnitOptions options;
  auto targets = ReadTargets(arguments);
  if (!targets.ok()) return targets.status();
  options.campaign.targets = *std::move(targets);
  auto kernels = ReadKernels(arguments, options.campaign.targets);
  if (!kernels.ok()) return kernels.status();
  options.campaign.kernels = *std::move(kernels);
  auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return engine.status();
  const auto binary = ReadFile(engine->path);
  if (!binary.ok()) return binary.status();
  options.engine_id = ContentId(*binary);
  auto runners = RunnerIds(options.campaign.targets);
  if (!runners.ok()) return runners.status();
  options.runner_ids = *std::move(runners);
  options.campaign.engine = *std::move(engine);
  auto epoch = NewestEpoch(*state);
  if (!epoch.ok()) return epoch.status();
  if (!epoch->has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        state->path(),
        " has no epoch, the cases to start from; `mlafuzz corpus import "
        "--state=",
        state->path(), "` begins one"));
  }
  options.epoch = **std::move(epoch);
  options.cases = plan->cases;
  return Setup{*std::move(state), *plan, *std::move(shard), std::move(options)};
}

int Run(const Arguments& arguments, const std::string&) {
  const auto error = [](const absl::Status& s) {
    return UsageError(absl::StrCat("unit: ", s.message()));
  };
  auto setup = ReadSetup(arguments);
  if (!setup.ok()) return error(setup.status());
  auto shard = setup->state.OpenOrMakeShard(absl::StrCat(setup->shard.index));
  if (!shard.ok()) return error(shard.status());
  // Of an earlier night or try: not run again.
  const auto merged = ReadUnits(setup->state);
  if (!merged.ok()) return error(merged.status());
  const auto own = ReadUnits(*shard);
  if (!own.ok()) return error(own.status());
  CatchStopSignals();
  std::printf(
      "mlafuzz: epoch %llu, %d cases; shard %llu of %llu%s\n",
      static_cast<unsigned long long>(setup->options.epoch.epoch.number()),
      setup->options.epoch.epoch.cases_size(),
      static_cast<unsigned long long>(setup->shard.index),
      static_cast<unsigned long long>(setup->shard.count),
      setup->shard.from.empty()
          ? ""
          : absl::StrCat(" (", setup->shard.from, ")").c_str());
  std::fflush(stdout);
  bool found = false, informative = false, any = false;
  for (std::uint64_t i = setup->shard.index; i < setup->plan.count;
       i += setup->shard.count) {
    const std::uint64_t seed = setup->plan.first + i;
    const std::string key = RecordBytes(KeyOf(setup->options, seed));
    Unit unit;
    const char* how = "";
    if (const auto it = own->done.find(key); it != own->done.end()) {
      unit = it->second;
      how = " (done before)";
    } else if (const auto at = merged->done.find(key);
               at != merged->done.end()) {
      unit = at->second;
      how = " (done before)";
    } else {
      auto ran = RunUnit(setup->state, setup->options, seed, *shard);
      if (!ran.ok()) {
        return UsageError(absl::StrCat(
            "unit: seed ", seed, ": ", ran.status().message(),
            "; what is done stays, run the same command again for the rest"));
      }
      unit = *std::move(ran);
    }
    std::printf("unit of seed %llu: %llu cases, %d kept, %d %s%s\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(unit.cases()), unit.kept_size(),
                unit.findings_size(),
                unit.findings_size() == 1 ? "finding" : "findings", how);
    std::fflush(stdout);
    any = true;
    found |= unit.findings_size() > 0 || unit.failures() > 0;
    informative |= unit.informative() > 0;
  }
  if (found) return kExitFound;
  // A shard beyond the last unit has nothing to say, and says nothing wrong.
  return any && !informative ? kExitUninformative : kExitNothingFound;
}

}  // namespace

Command UnitCommand() {
  std::vector<Flag> flags = {StateFlag()};
  for (const auto& more : {PlanFlags(), ShardFlags()}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  flags.push_back(
      {"kernels", "writer,gather,convert,decode", "what generated cases call"});
  return {"unit", "", "run a fleet's work units, or one shard of them",
          WithTargetFlags(flags), Run};
}

}  // namespace mlafuzz
