#include "fuzz/state/unit.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/worker/foreign.h"

namespace mlafuzz {
namespace {

absl::Status Again(absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat(why, "; the unit has to be run again"));
}

// On a full disk a unit would keep fewer cases than elsewhere.
absl::Status RefuseFullDisk(const std::string& folder) {
  const absl::Status room = ScratchHasRoom(folder);
  return room.ok() ? room : Again(room.message());
}

// The epoch's cases as files, in the order of their ids, and the list of them.
absl::Status LayOut(const State& state, const Epoch& epoch,
                    const std::string& folder, const std::string& list) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  }
  std::vector<std::string> paths;
  for (const std::string& id : epoch.cases()) {
    const auto bytes = state.Get(Kind::kCase, id);
    if (!bytes.ok()) return bytes.status();
    paths.push_back(absl::StrCat(folder, "/", id));
    if (absl::Status s = WriteFileAtomically(paths.back(), *bytes); !s.ok()) {
      return s;
    }
  }
  return WriteFileAtomically(list, absl::StrJoin(paths, ","));
}

// Adds what the engine kept.
absl::Status Keep(const std::string& folder, State& shard,
                  std::set<std::string>& ids) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const auto c = ReadCase(it->path().string());
    if (!c.ok()) return c.status();
    auto id = shard.Put(Kind::kCase, CanonicalBinary(*c));
    if (!id.ok()) return id.status();
    ids.insert(*std::move(id));
  }
  return error ? absl::UnavailableError(
                     absl::StrCat(folder, ": ", error.message()))
               : absl::OkStatus();
}

absl::StatusOr<std::string> Add(const UnitKey& key, const std::string& flavour,
                                const Finding& finding, State& shard) {
  auto case_id = shard.Put(Kind::kCase, finding.case_binary);
  if (!case_id.ok()) return case_id;
  const Failure& failure = finding.failure;
  FoundCase found;
  found.set_targets(key.targets());
  found.set_verdict(failure.verdict());
  found.set_kernel(failure.kernel());
  found.set_property(failure.property());
  found.set_field(failure.field());
  found.set_key(failure.key());
  if (!finding.death) found.set_cause(failure.cause());
  found.set_case_id(*std::move(case_id));
  found.set_flavour(flavour);
  return shard.Put(Kind::kFinding, RecordBytes(found));
}

}  // namespace

UnitKey KeyOf(const UnitOptions& options, std::uint64_t seed) {
  const CampaignOptions& campaign = options.campaign;
  UnitKey key;
  key.set_epoch(options.epoch.id);
  key.set_seed(seed);
  key.set_cases(options.cases);
  key.set_targets(TargetsFlags(campaign.targets));
  key.mutable_kernels()->Assign(campaign.kernels.begin(),
                                campaign.kernels.end());
  key.set_engine(options.engine_id);
  for (const Library& library : campaign.targets.libraries()) {
    key.add_libraries(library.hash());
  }
  key.set_tier(TierText(campaign.targets));
  key.mutable_runners()->Assign(options.runner_ids.begin(),
                                options.runner_ids.end());
  return key;
}

absl::StatusOr<Unit> RunUnit(const State& state, const UnitOptions& options,
                             std::uint64_t seed, State& shard) {
  auto scratch = ScratchFolder::Create();
  if (!scratch.ok()) return scratch.status();
  const std::string& folder = scratch->path();
  CampaignOptions campaign = options.campaign;
  campaign.seed = seed;
  campaign.jobs = 1;
  campaign.cases = options.cases;
  campaign.corpora.clear();
  campaign.case_list = folder + "/cases.txt";
  campaign.out = folder + "/out";
  // What ends by the clock, not by what it did, is not for units.
  campaign.seconds = 0;
  campaign.settle = false;
  campaign.follow_up = false;
  campaign.quiet = true;
  if (absl::Status s = LayOut(state, options.epoch.epoch, folder + "/epoch",
                              campaign.case_list);
      !s.ok()) {
    return s;
  }
  const auto result = RunCampaign(campaign);
  if (!result.ok()) return result.status();
  if (result->interrupted) return absl::CancelledError("stopped by a signal");
  if (!result->error.empty()) return Again(result->error);
  if (!result->incidents.empty()) return Again(result->incidents[0]);
  if (result->slow_cases > 0) return Again("a case was slow on a busy machine");
  if (!result->corpus_error.empty()) return Again(result->corpus_error);
  if (absl::Status s = RefuseFullDisk(folder); !s.ok()) return s;

  Unit unit;
  *unit.mutable_key() = KeyOf(options, seed);
  unit.set_cases(result->totals.cases);
  unit.set_checks(result->totals.checks);
  unit.set_informative(result->totals.informative);
  unit.set_failures(result->totals.failures);
  std::set<std::string> kept, findings;
  if (absl::Status s = Keep(campaign.out + "/corpus", shard, kept); !s.ok()) {
    return s;
  }
  for (const Finding& finding : result->findings.all()) {
    auto id = Add(unit.key(), campaign.engine.flavour, finding, shard);
    if (!id.ok()) return id.status();
    findings.insert(*std::move(id));
  }
  unit.mutable_kept()->Assign(kept.begin(), kept.end());
  unit.mutable_findings()->Assign(findings.begin(), findings.end());
  const auto id = shard.Put(Kind::kUnit, RecordBytes(unit));
  if (!id.ok()) return id.status();
  return unit;
}

}  // namespace mlafuzz
