#ifndef MLAFUZZ_FUZZ_LEDGER_BASELINES_H_
#define MLAFUZZ_FUZZ_LEDGER_BASELINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/ledger/result.h"

namespace mlafuzz {

// Other people's tests, as one program runs them (baselines/): `PROGRAM --list`
// prints a line of JSON for each, with its name as "baseline"; `PROGRAM
// --baseline=NAME --target=TARGET --seed=N` runs one and prints another:
// {"baseline", "target", "seed", "flagged": bool, "why", "cases",
// "cpu_seconds"}, and "applicable": false if it has no test of such a target.

// Unavailable if the program cannot run, DataLoss if it lists nothing.
absl::StatusOr<std::vector<std::string>> ListBaselines(
    const std::string& program);

// A test suite that dies, hangs (60 s of CPU time, or ten times as long
// without) or exits with an error is red: flagged, with the CPU time of its
// process. Cancelled by a signal (fuzz/campaign/signals.h). DataLoss if a run
// that ends well says nothing that can be read.
absl::StatusOr<BaselineRun> RunBaseline(const std::string& program,
                                        const std::string& baseline,
                                        const std::string& target,
                                        std::uint64_t seed,
                                        double timeout_seconds = 60);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_BASELINES_H_
