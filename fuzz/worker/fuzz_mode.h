#ifndef MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "fuzz/worker/case_counts.h"
#include "fuzz/worker/case_log.h"
#include "fuzz/worker/diff.h"
#include "fuzz/worker/finding_log.h"
#include "fuzz/worker/fused_turns.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

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
  bool ShouldStop();
  void Finish();

  const GeneratorOptions& generator() const { return generator_; }

 private:
  FuzzMode(const WorkRequest& request, WorkerStatus& status)
      : request_(request),
        status_(status),
        generator_(GeneratorFor(std::vector<std::string>(
            request.kernels().begin(), request.kernels().end()))) {
    // Steering is this project's own; RapidCheck goes without.
    if (request.mutator() != WorkRequest::RAPIDCHECK) {
      generator_.steering = &steering_;
    }
  }

  bool CallsKernelUnderTest(const Case& c) const;
  // Whether the case was built, and ran.
  bool Run(const Case& c, const std::string& canonical, int made_for);
  bool Compare(const Case& c, const std::string& canonical);
  void Count(const CaseResult& result, int made_for);
  void CountExecutions();

  WorkRequest request_;
  WorkerStatus& status_;
  std::unique_ptr<Session> session_;
  bool foreign_ = false;            // a target is not instrumented
  std::unique_ptr<DiffPair> diff_;  // null unless two targets are compared
  Steering steering_;
  GeneratorOptions generator_;    // points at steering_
  std::unique_ptr<CaseLog> log_;  // null: nobody asked for one
  std::unique_ptr<CaseCounts> counts_;
  std::unique_ptr<FindingLog> findings_;
  CaseResult result_;
  std::unique_ptr<FusedTurns> turns_;  // null: each case has its own calls
  absl::Status error_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FUZZ_MODE_H_
