#ifndef MLAFUZZ_FUZZ_LEDGER_RUN_H_
#define MLAFUZZ_FUZZ_LEDGER_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/ledger/measure.h"
#include "fuzz/ledger/result.h"

namespace mlafuzz {

struct LedgerOptions {
  MeasureOptions measure;
  std::vector<std::string> engines = {"libfuzzer", "rapidcheck"};
  std::uint64_t seeds = 2;           // 1, 2, ...
  std::vector<std::string> targets;  // empty: all
  bool core_only = false;            // of the mutants: LedgerEntry::core
  bool controls = true;
  bool groups = false;
  int jobs = 1;              // campaigns at a time
  std::string run_baseline;  // the program; empty: no baselines
  // Of these, each baseline has so many: 1, 2, ... At most `seeds`; 0: all.
  std::uint64_t baseline_seeds = 0;
};

// "libfuzzer", "rapidcheck", "bytes". InvalidArgument for another, naming them.
absl::StatusOr<WorkRequest::Mutator> MutatorOf(absl::string_view engine);

// Called with a line each time a mutant, a control or a baseline is done, from
// one thread at a time.
using LedgerProgress = std::function<void(const std::string& line)>;

// Runs all of it. A signal (fuzz/campaign/signals.h) ends it with what there
// is: LedgerResult::interrupted. What cannot be measured is in
// LedgerResult::errors; an error is returned where nothing can be begun.
// Rows stand in the order of Ledger() and AllTargets() however many jobs ran.
absl::StatusOr<LedgerResult> RunLedger(const LedgerOptions& options,
                                       const LedgerProgress& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_RUN_H_
