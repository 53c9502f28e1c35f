#ifndef MLAFUZZ_FUZZ_CAMPAIGN_TOTALS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_TOTALS_H_

#include <array>
#include <cstdint>
#include <string>

#include "fuzz/worker/status.h"

namespace mlafuzz {

// The counts of WorkerStatus, summed over workers.
struct Totals {
  using Count = std::uint64_t;

  Count inputs = 0;
  Count cases = 0;
  Count rejected = 0;
  std::array<Count, kKernels> cases_of = {};
  // While it runs: summed over jobs, so a case that two jobs met counts twice.
  // In the report: counted over all jobs.
  std::array<Count, kKernels> distinct = {};
  // Of the report: from a sample (fuzz/worker/distinct.h).
  std::array<bool, kKernels> distinct_estimated = {};
  std::array<Count, kKernels> executions = {};
  std::array<Count, kKernels> not_implemented = {};
  Count checks = 0;
  std::array<Count, kVerdictCount> verdicts = {};
  Count informative = 0;
  Count failures = 0;
  Count undiagnosed = 0;
  Count fused = 0;
  Count fused_alone = 0;
  Count fused_calls = 0;
  Count fused_lent = 0;
  Count fused_rerun = 0;
  Count fused_untold = 0;
  Count only_fused = 0;
  Count only_alone = 0;
  std::array<Count, kMaxKnobs> knobs = {};
  std::array<Count, kMaxRelations> relations = {};
  Count power_samples = 0;
  std::array<Count, kKernels> power_steps = {};
  std::array<Count, kMaxFields> power = {};
  std::array<Count, kMaxFields> made_for = {};
  std::array<Count, kMaxFields> made_sampled = {};
  std::array<Count, kMaxFields> made_informative = {};
  std::array<std::array<Count, 8>, 2> decode_ulps = {};
  Count cpu_nanoseconds = 0;  // from each worker's first case on
  // Not sums: the largest of the workers.
  std::array<Count, 2> decode_most_ulps = {};
  // Of comparisons (WorkerStatus); why a, b did not take the first case that
  // they did not.
  Count compared = 0;
  Count not_compared = 0;
  std::array<Count, 2> not_taken = {};
  std::array<std::string, 2> why_not_taken;
  Count coverage = 0;
  Count corpus = 0;

  void Add(const WorkerStatus& status);
};

// Of a comparison: every case was left out. False of other campaigns.
inline bool NothingCompared(const Totals& totals) {
  return totals.compared == 0 && totals.not_compared != 0;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_TOTALS_H_
