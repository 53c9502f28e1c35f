#ifndef MLAFUZZ_FUZZ_LEDGER_RESULT_H_
#define MLAFUZZ_FUZZ_LEDGER_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/ledger/cause.h"

namespace mlafuzz {

// What `mlafuzz ledger` measures, as plain data.

// One wrong kernel under one engine with one seed.
struct SeedRun {
  std::uint64_t seed = 0;
  // A detected fault has been reached and triggered.
  bool reached = false;
  bool triggered = false;
  bool detected = false;
  // Of a detected one: the wrong kernel's calls through the first failure,
  // reruns for relations included, and the workers' CPU time from the first
  // case to it.
  std::uint64_t executions = 0;
  double cpu_seconds = 0;
  // Inputs and cases that it took or, of an undetected one, had.
  std::uint64_t inputs = 0;
  std::uint64_t cases = 0;
  // Once settled: what was found, and how far that is the ledger's.
  CauseVerdict cause = CauseVerdict::kUnknown;
  std::string kernel;
  std::string property;
  std::string key;
  std::vector<std::string> also;
  // Of the settlement: further cases that fail by that cause, that fail
  // otherwise, and that are right where it should show.
  std::uint64_t alike = 0, others = 0, contradicted = 0;
};

struct EngineRuns {
  std::string engine;         // "libfuzzer", "rapidcheck", "bytes"
  std::vector<SeedRun> runs;  // by seed
};

struct MutantRow {
  std::string id;  // "mutant:nope-stale-tail"
  std::string source;
  std::vector<std::string> kernels;
  std::vector<EngineRuns> engines;
  // --groups: causes of the findings of a campaign that goes on after the
  // first, one a finding; each of `kernels` should have one. Nothing: not asked
  // for.
  std::optional<std::vector<std::string>> groups;
};

struct ControlRow {
  std::string id;
  std::uint64_t cases = 0;
  std::uint64_t false_alarms = 0;
  std::vector<std::string> alarms;  // a line each: key and detail
};

struct BaselineRun {
  std::uint64_t seed = 0;
  bool applicable = true;  // has a test of such a kernel
  bool flagged = false;
  std::string why;
  std::uint64_t cases = 0;
  double cpu_seconds = 0;
};

struct BaselineTarget {
  std::string target;
  std::vector<BaselineRun> runs;  // by seed
};

struct BaselineRow {
  std::string id;
  std::vector<BaselineTarget> mutants;
  std::vector<BaselineTarget> controls;
};

struct LedgerResult {
  std::vector<MutantRow> mutants;
  std::vector<ControlRow> controls;
  std::vector<BaselineRow> baselines;
  std::uint64_t seeds = 0;
  std::uint64_t inputs = 0;  // a campaign's budget
  double budget_cpu_seconds = 0;
  std::string flavour;
  double seconds = 0;        // of the whole command
  bool interrupted = false;  // some of it was not run
  // A line for each measurement that could not be made. What it would have said
  // is missing above.
  std::vector<std::string> errors;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_RESULT_H_
