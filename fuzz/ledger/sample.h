#ifndef MLAFUZZ_FUZZ_LEDGER_SAMPLE_H_
#define MLAFUZZ_FUZZ_LEDGER_SAMPLE_H_

// For tests of this folder: results made up by hand.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/ledger/result.h"

namespace mlafuzz {

inline SeedRun Kill(std::uint64_t seed, std::uint64_t executions, double cpu,
                    CauseVerdict cause = CauseVerdict::kRight) {
  SeedRun run;
  run.seed = seed;
  run.reached = run.triggered = run.detected = true;
  run.executions = executions;
  run.cpu_seconds = cpu;
  run.cause = cause;
  run.kernel = "decode";
  run.property = "decode-out";
  run.key = "decode/decode.sink=SINK_DROPPED";
  return run;
}

inline SeedRun Miss(std::uint64_t seed, bool reached, bool triggered) {
  SeedRun run;
  run.seed = seed;
  run.reached = reached;
  run.triggered = triggered;
  return run;
}

inline MutantRow Mutant(const std::string& id, std::vector<SeedRun> libfuzzer,
                        std::vector<SeedRun> rapidcheck = {}) {
  MutantRow row;
  row.id = id;
  row.source = "an <issue>";
  row.kernels = {"decode"};
  row.engines.push_back({"libfuzzer", std::move(libfuzzer)});
  if (!rapidcheck.empty()) {
    row.engines.push_back({"rapidcheck", std::move(rapidcheck)});
  }
  return row;
}

inline BaselineRun Flag(bool flagged, double cpu_seconds) {
  BaselineRun run;
  run.flagged = flagged;
  run.cpu_seconds = cpu_seconds;
  return run;
}

inline LedgerResult SampleResult() {
  LedgerResult result;
  result.seeds = 2;
  result.inputs = 20000;
  result.flavour = "plain";
  result.mutants = {
      Mutant("mutant:killed", {Kill(1, 4, 0.5), Kill(2, 8, 0.1)},
             {Kill(1, 40, 1), Kill(2, 60, 3)}),
      Mutant("mutant:weak-generator", {Miss(1, true, false), Kill(2, 9, 1)}),
      Mutant("mutant:weak-oracle",
             {Miss(1, true, true), Miss(2, false, false)}),
  };
  result.controls = {{"control:right", 100, 0, {}}};
  BaselineRun elsewhere;
  elsewhere.applicable = false;
  result.baselines = {
      {"theirs",
       {{"mutant:killed", {Flag(true, 0.001), Flag(true, 0.002)}},
        {"mutant:weak-generator", {Flag(true, 1), Flag(false, 1)}},
        {"mutant:weak-oracle", {elsewhere, elsewhere}}},
       {{"control:right", {Flag(false, 1), Flag(true, 1)}}}}};
  return result;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_SAMPLE_H_
