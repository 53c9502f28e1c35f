#ifndef MLAFUZZ_FUZZ_WORKER_FUSED_TURNS_H_
#define MLAFUZZ_FUZZ_WORKER_FUSED_TURNS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fuzz/worker/background.h"
#include "fuzz/worker/case_counts.h"
#include "fuzz/worker/case_log.h"
#include "fuzz/worker/finding_log.h"
#include "fuzz/worker/semantic_counters.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"
#include "properties/fused/fused_checker.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

// A campaign whose cases share calls, in turns of request.fuse() cases. With
// several request.threads() four things go on at once:
//
//   1. the engine hands out the inputs of a turn;
//   2. of the turn before, siblings are made and all cases are built;
//   3. of the turn before that, calls are made, and what comes back is judged;
//   4. of the one before, cases are counted and findings recorded.
//
// 2 to 4 share the threads. What a turn showed, new behaviour and which fields
// need more cases, is heard of when the third after it begins to be made,
// whatever the number of threads: the same seed makes the same cases.
class FusedTurns {
 public:
  // All must outlive it; `log` may be null.
  FusedTurns(const WorkRequest& request, Session& session, WorkerStatus& status,
             CaseCounts& counts, FindingLog& findings, CaseLog* log,
             const GeneratorOptions& generator);

  // Takes an input; `canonical` is its binary form. False if it does not build.
  // May wait for a turn, and then tells the generator's steering what was
  // learnt.
  bool Add(const Case& c, std::string canonical, int made_for);

  // Whether the request's number of cases is reached. Where that is near it
  // waits for all that was begun.
  bool HasAllCases();

  // Runs what is left. If time is over, only until anything has run.
  void Finish();

  // Why no further case can run, as far as was heard.
  const absl::Status& error() const { return error_; }

 private:
  // What the engine handed out.
  struct Input {
    std::unique_ptr<Case> c;
    FusedInput fused;
    std::string canonical;
    int made_for = -1;
    std::size_t siblings = 0;  // wanted
    std::uint64_t number = 0;  // among all inputs
  };
  // A case on its way.
  struct Made {
    std::unique_ptr<Case> c;
    std::string canonical;
    int made_for = -1;
    FusedInput fused;  // points into `c`
  };
  struct Turn {
    std::vector<Input> inputs;
    std::uint64_t planned = 0;  // cases, if all siblings can be made
    std::int64_t bytes = 0;     // of their images, roughly
    std::vector<std::uint32_t> weights;
    std::vector<Made> made;
    // That ran, and what came of them.
    std::vector<FusedResult> results;
    std::uint64_t cpu_nanoseconds = 0;
    FusedCounts calls;  // all so far, as executions
    std::array<std::uint64_t, kKernels> executions = {};
    // What it showed.
    SemanticCounts semantics;
    std::vector<std::uint32_t> learnt;
    absl::Status error;
  };

  // The engine's thread.
  void Advance();
  void Drain();
  void Hear(Turn& turn);
  bool MayRun() const;
  // The maker's.
  void Make(Turn& turn) const;
  std::vector<Made> MakeFamily(Input& input,
                               const std::vector<std::uint32_t>& weights) const;
  // The caller's.
  void Run(Turn& turn);
  // The counter's.
  void Count(Turn& turn);
  void CountCalls(const FusedCounts& counts);

  const WorkRequest& request_;
  Session& session_;
  WorkerStatus& status_;
  CaseCounts& counts_;
  FindingLog& findings_;
  CaseLog* const log_;
  const GeneratorOptions generator_;
  const int threads_;
  std::unique_ptr<LentCalls> lent_;  // null: a GPU lends nothing
  std::unique_ptr<FusedChecker> checker_;

  // The engine's thread alone.
  std::uint64_t planned_ = 0;  // cases of all turns
  std::unique_ptr<Turn> collecting_ = std::make_unique<Turn>();
  std::unique_ptr<Turn> making_;             // the maker's until it is done
  std::unique_ptr<Turn> running_;            // the caller's until it is done
  std::unique_ptr<Turn> counting_;           // the counter's until it is done
  std::deque<std::unique_ptr<Turn>> shown_;  // not heard of yet
  absl::Status error_;
  // The caller's: cases that wait for the next turn, to run alone.
  std::vector<Made> postponed_;

  Background maker_;
  Background caller_;
  Background counter_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FUSED_TURNS_H_
