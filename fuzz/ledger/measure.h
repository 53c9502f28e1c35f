#ifndef MLAFUZZ_FUZZ_LEDGER_MEASURE_H_
#define MLAFUZZ_FUZZ_LEDGER_MEASURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"
#include "fuzz/ledger/result.h"
#include "kernels/target_set.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {

struct MeasureOptions {
  Engine engine;
  std::uint64_t inputs = 20000;        // a campaign, readable or not
  double budget_cpu_seconds = 0;       // a campaign; 0: no limit
  std::uint64_t control_cases = 2000;  // a kernel of a control
};

// All of these run whole campaigns of one job from an empty corpus, and may be
// called from several threads at once. Cancelled after a signal
// (fuzz/campaign/signals.h).

// One campaign, up to the first failure, which is then settled. Of one that
// finds nothing its own cases say whether the fault was reached and triggered
// (REACH of fuzz/worker/worker.proto).
absl::StatusOr<SeedRun> MeasureMutant(const MeasureOptions& options,
                                      const LedgerEntry& entry,
                                      WorkRequest::Mutator mutator,
                                      std::uint64_t seed);

// The causes that a campaign that goes on makes of one fault: ideally one for
// each of entry.kernels.
absl::StatusOr<std::vector<std::string>> FindGroups(
    const MeasureOptions& options, const LedgerEntry& entry,
    std::uint64_t seed);

// A right target: options.control_cases cases of each of its kernels, a
// campaign each. Whatever is found is a false alarm.
absl::StatusOr<ControlRow> MeasureControl(const MeasureOptions& options,
                                          const TargetInfo& info,
                                          std::uint64_t seed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_MEASURE_H_
