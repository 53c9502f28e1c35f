#ifndef MLAFUZZ_FUZZ_LEDGER_RECORDED_H_
#define MLAFUZZ_FUZZ_LEDGER_RECORDED_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fuzz/ledger/cause.h"
#include "fuzz/ledger/result.h"

namespace mlafuzz {

// How soon an engine found a wrong kernel when somebody last looked and was
// content: what the gate compares with. A campaign follows from its seed, so
// the same program does the same again on any machine; only a change of
// generators, kernels or judge moves these figures.
struct RecordedKill {
  std::string mutant;
  std::string engine;
  std::vector<std::uint64_t> executions;  // of the seeds that found it, sorted
  std::size_t missed = 0;                 // seeds that did not
  CauseVerdict cause = CauseVerdict::kUnknown;  // over seeds
};

std::vector<RecordedKill> Record(const LedgerResult& result);
// JSON, one kill a line; `command` is what makes the file anew.
std::string FormatRecorded(const std::vector<RecordedKill>& kills,
                           const std::string& command);
// InvalidArgument for what FormatRecorded does not write.
absl::StatusOr<std::vector<RecordedKill>> ParseRecorded(absl::string_view text);

// What is worse than recorded, a sentence each; empty: the gate is green.
//
//   * a seed misses what none of the recorded seeds missed;
//   * every seed takes more calls than any recorded one, or every seed fewer.
//     If nothing has changed that is never so for seeds that were recorded; for
//     k seeds of a new but equally good program beside n recorded ones it
//     happens once in C(n + k, k) times for each side (all orders of n + k
//     draws of one distribution are alike): 1 in 1771 for 3 and 20;
//   * a cause is worse than recorded, or wrong;
//   * a mutant or engine was measured and not recorded, or, of the mutants in
//     `result`, recorded and not measured;
//   * a control was flagged.
std::vector<std::string> GateProblems(const LedgerResult& result,
                                      const std::vector<RecordedKill>& kills);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_RECORDED_H_
