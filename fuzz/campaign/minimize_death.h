#ifndef MLAFUZZ_FUZZ_CAMPAIGN_MINIMIZE_DEATH_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_MINIMIZE_DEATH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/one_shot.h"
#include "properties/minimize/minimize.h"

namespace mlafuzz {

// MinimizeInWorker() for a case that takes its process with it: each try is a
// process of its own. request.cause() is the death's key; a hang is one that
// takes longer than limits.case_seconds, once, which is why these should be
// few seconds. request.seconds() is the limit of all; kMostDeaths tries.
// A signal ends it with the smallest case so far, `exhausted`; Cancelled if it
// comes before the case was seen to die, and so at limits.until.
inline constexpr std::uint64_t kMostDeaths = 500;
absl::StatusOr<MinimizeResult> MinimizeDeath(
    const Engine& engine, WorkRequest request,
    const std::vector<std::string>& kernels_under_test, WatchdogLimits limits,
    const std::function<void(const MinimizeProgress&)>& progress);

// Runs of a case that fails in `failed` of `runs`, after which it has failed
// once with 99 %; 20 at most.
std::uint32_t RepeatsFor(int failed, int runs);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_MINIMIZE_DEATH_H_
