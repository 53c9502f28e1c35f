#ifndef MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "fuzz/worker/case_log.h"
#include "fuzz/worker/cause_filter.h"
#include "fuzz/worker/diff.h"
#include "fuzz/worker/distinct.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"
#include "properties/fused/fused_checker.h"

namespace mlafuzz {

// The campaign's side of libFuzzer's loop: takes an input, runs it if it is a
// case, counts, records failures of new causes, and lets the engine go on.
class FuzzMode {
 public:
  // `status` must outlive this.
  static absl::StatusOr<std::unique_ptr<FuzzMode>> Create(
      const WorkRequest& request, WorkerStatus& status);

  // One input. True if it was a case: only then it is worth keeping. In a fused
  // campaign it waits for others before it runs.
  bool OneInput(absl::string_view bytes);

  // Why no further case can run; OK as long as they can.
  const absl::Status& error() const { return error_; }

  // A limit was reached, or the supervisor said so. Finish() before leaving.
  bool ShouldStop() const;
  void Finish();

  const GeneratorOptions& generator() const { return generator_; }

 private:
  FuzzMode(const WorkRequest& request, WorkerStatus& status)
      : request_(request),
        status_(status),
        distinct_(request.out(), request.job() % 1000),
        generator_(GeneratorFor(std::vector<std::string>(
            request.kernels().begin(), request.kernels().end()))) {
    // Steering is this project's own; RapidCheck goes without.
    if (request.mutator() != WorkRequest::RAPIDCHECK) {
      generator_.steering = &steering_;
    }
  }

  // A case that waits for others to share a call with.
  struct Waiting {
    std::unique_ptr<Case> c;
    CaseImage image;  // points into `c`
    std::string canonical;
    int made_for;
    bool alone = false;  // shares no call
  };

  // Takes a case of a fused campaign, and brings siblings of it. False if it
  // does not build.
  bool Fuse(const Case& c, const std::string& canonical, int made_for);
  bool Wait(Case c, std::string canonical, int made_for);
  // Checks all that wait.
  void Flush();

  bool CallsKernelUnderTest(const Case& c) const;
  void Count(const CaseResult& result);
  Observation AllSeen(const CaseResult& result) const;
  void CountPower(const CaseResult& result);
  void CountMadeFor(const CaseResult& result, int field);
  bool MayJudge(const CaseResult& result, std::size_t step) const;
  void CountExecutions();
  void Record(const CaseResult& result, absl::string_view bytes);
  // `result`: null for a difference of two targets.
  void Write(const Failure& failure, absl::string_view bytes,
             const CaseResult* result);

  WorkRequest request_;
  WorkerStatus& status_;
  std::unique_ptr<Session> session_;
  bool foreign_ = false;            // a target is not instrumented
  std::unique_ptr<DiffPair> diff_;  // null unless two targets are compared
  DistinctCases distinct_;
  CauseFilter filter_;
  Steering steering_;
  GeneratorOptions generator_;    // points at steering_
  std::unique_ptr<CaseLog> log_;  // null: nobody asked for one
  CaseResult result_;
  std::uint64_t cpu_at_failure_ = 0;     // nanoseconds since the first case
  std::unique_ptr<LentCalls> lent_;      // null: a GPU lends nothing
  std::unique_ptr<FusedChecker> fused_;  // null: each case has its own calls
  std::vector<Waiting> waiting_;
  std::int64_t waiting_bytes_ = 0;
  absl::Status error_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_
