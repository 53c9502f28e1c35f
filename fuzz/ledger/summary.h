#ifndef MLAFUZZ_FUZZ_LEDGER_SUMMARY_H_
#define MLAFUZZ_FUZZ_LEDGER_SUMMARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "fuzz/ledger/cause.h"
#include "fuzz/ledger/result.h"
#include "fuzz/ledger/statistics.h"

namespace mlafuzz {

// What the seeds of one engine say of one wrong kernel.
struct EngineSummary {
  std::size_t seeds = 0;
  std::size_t reached = 0;
  std::size_t triggered = 0;
  std::size_t detected = 0;
  Spread executions;
  Spread cpu_seconds;
  CauseVerdict cause = CauseVerdict::kUnknown;
  std::size_t right = 0, unknown = 0, wrong = 0;  // of the detected
};
EngineSummary Summarise(const EngineRuns& runs);

// Why seeds did not find a fault.
enum class Weakness {
  kNone,       // all did
  kGenerator,  // whoever did not find it never triggered it
  kOracle,     // somebody triggered it and did not notice
};
Weakness WeaknessOf(const EngineSummary& summary);
// "generator weak (never reached)", "generator weak (never triggered)", ...;
// empty for none.
std::string WeaknessText(const EngineSummary& summary);

// Killed: in so many seeds that the median is a kill.
bool Killed(const EngineSummary& summary);
bool Killed(const BaselineTarget& target);
// Whether the baseline has a test of such a target.
bool Applies(const BaselineTarget& target);
Spread CpuSecondsOf(const BaselineTarget& target);

// One baseline beside the first engine, over the wrong kernels that both ran.
struct Comparison {
  std::string baseline;
  std::size_t mutants = 0;
  std::size_t applicable = 0;  // it has a test of such a kernel
  std::size_t killed_by_baseline = 0;
  std::size_t killed_by_us = 0;             // of all
  std::size_t killed_by_us_applicable = 0;  // of those it has a test of
  std::vector<std::string> only_baseline;   // killed by it and not by us
  std::size_t both = 0;
  std::size_t first_or_tied = 0;    // of both: in CPU seconds
  std::vector<std::string> slower;  // the rest of them
  std::size_t controls = 0;         // that it has a test of
  std::size_t controls_flagged = 0;
};
// Within a factor of two or 10 ms is a tie.
Comparison Compare(const LedgerResult& result, const BaselineRow& baseline);

// Findings of the campaigns that went on, and how many there should be: one for
// each kernel that a fault is in.
struct GroupCount {
  std::size_t findings = 0;
  std::size_t causes = 0;
};
GroupCount CountGroups(const LedgerResult& result);

// 0: all that was triggered was detected, no control was flagged, no cause is
// wrong; else 1. 2: something could not be measured.
int LedgerExitCode(const LedgerResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_SUMMARY_H_
