#ifndef MLAFUZZ_FUZZ_COMMAND_NIGHT_RUN_H_
#define MLAFUZZ_FUZZ_COMMAND_NIGHT_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"
#include "fuzz/command/shard.h"
#include "fuzz/nightly/config.h"
#include "fuzz/nightly/nights.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// One work of the config, ready to run.
struct Ready {
  Work work;
  std::vector<std::string> flags;
  Targets targets;
  std::vector<std::string> kernels;
  Engine engine;
  std::string name() const { return TargetsFlags(targets); }
};
// As `mlafuzz unit` reads the flags.
absl::StatusOr<Ready> MakeReady(const Work& work);

// Before a night is begun: whether `mlafuzz ledger` takes the config's gate,
// and whether its regressions are there and can be read. InvalidArgument names
// the field and what is wrong.
absl::Status CheckGate(const NightConfig& config);
absl::Status CheckRegressions(const NightConfig& config);

// `mlafuzz unit` for the part of a night's units that is the shard's.
std::vector<std::string> UnitWords(const State& state, const Ready& work,
                                   std::uint64_t night, const Shard& shard);

// Runs a night to its end: replay, fuzz, ledger gate, minimise, report, prune
// (docs/nightly.md). The exit code of the command; Cancelled after a signal,
// Unavailable if a phase could not run: the next one goes on with this night.
absl::StatusOr<int> RunNight(const NightConfig& config,
                             const std::vector<Ready>& work, const State& state,
                             Night night);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_NIGHT_RUN_H_
