#ifndef MLAFUZZ_FUZZ_STATE_UNIT_H_
#define MLAFUZZ_FUZZ_STATE_UNIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"
#include "fuzz/state/records.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// What the units of one command have in common. Of `campaign` they take
// engine, targets, kernels and limits.
struct UnitOptions {
  CampaignOptions campaign;
  NamedEpoch epoch;
  std::uint64_t cases = 0;
  std::string engine_id;                // ContentId of the engine's file
  std::vector<std::string> runner_ids;  // of the runners', sorted
};

UnitKey KeyOf(const UnitOptions& options, std::uint64_t seed);

// Runs one unit, a campaign of one job from the epoch's cases alone, and adds
// what it kept and found to `shard`; the unit itself last. With equal keys the
// bytes are equal, whoever runs it and how often, but for what a kernel under
// test draws from elsewhere. `state` has the epoch.
//
// Nothing is added of a unit that did not run to its end as it would have
// anywhere: Cancelled after a signal, Unavailable if a worker was killed from
// outside, a case was slow because the machine was busy, or the library under
// test changed. It is run again, whole.
absl::StatusOr<Unit> RunUnit(const State& state, const UnitOptions& options,
                             std::uint64_t seed, State& shard);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_UNIT_H_
