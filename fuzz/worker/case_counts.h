#ifndef MLAFUZZ_FUZZ_WORKER_CASE_COUNTS_H_
#define MLAFUZZ_FUZZ_WORKER_CASE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "fuzz/worker/distinct.h"
#include "fuzz/worker/semantic_counters.h"
#include "fuzz/worker/status.h"
#include "properties/checker.h"

namespace mlafuzz {

// Counts what cases that were checked were like and what was said of them, and
// samples which contract fields they are informative for. All counts of the
// status but those of calls, cases, failures and findings.
class CaseCounts {
 public:
  // All must outlive it. Distinct cases are kept in `folder`, as of `job`.
  CaseCounts(const CaseChecker& checker, WorkerStatus& status,
             const std::string& folder, std::uint32_t job)
      : checker_(checker), status_(status), distinct_(folder, job) {}

  struct Counted {
    const CaseResult* result = nullptr;
    std::uint64_t hash = 0;  // CaseHash()
    int made_for = -1;       // the field that it was made for
  };
  // In their order; `first` cases were counted before. The same counts whatever
  // the number of threads that share the work. `semantics`: null if nobody
  // asks.
  void Add(absl::Span<const Counted> cases, std::uint64_t first, int threads,
           SemanticCounts* semantics);

  // Writes out what was noted of distinct cases.
  void Flush() { distinct_.Flush(); }

 private:
  struct Tally;
  void AddTo(Tally& tally, const CaseResult& result, bool semantics) const;
  void CountPower(absl::Span<const Counted> cases, std::uint64_t first,
                  int threads);
  void CountMadeFor(absl::Span<const Counted> cases, int threads);
  // What a case left, pools included.
  Observation AllSeen(const CaseResult& result) const;
  bool MayJudge(const CaseResult& result, std::size_t step) const;
  bool IsInformativeFor(const CaseResult& result, std::size_t field) const;

  const CaseChecker& checker_;
  WorkerStatus& status_;
  DistinctCases distinct_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_CASE_COUNTS_H_
