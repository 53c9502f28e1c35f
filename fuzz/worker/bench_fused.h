#ifndef MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_
#define MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/worker.pb.h"
#include "kernels/foreign/executor.h"
#include "oracle/judge.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

// Cases that share a call, drawn from seeds.
struct FusedWork {
  std::string kernel;  // "writer"
  std::function<Case(std::uint64_t seed)> make;
  // That a kernel has to read and write, a case: its own rows and lists.
  std::uint64_t kernel_bytes = 0;
};

// Times calls that cases share, judged on all processors: where the time goes,
// stage by stage, by the wall clock from cases to verdicts.
class FusedBench {
 public:
  // A call's tensors at most: the arena holds 2 GiB, and a worker a few copies.
  static constexpr std::int64_t kMostBytes = std::int64_t{640} << 20;

  // `executor` is the session's. `lent`: null where bytes travel to the runner
  // and back. `seconds`: for each figure. `threads` lay and judge; 0: one a
  // processor. All must outlive it.
  FusedBench(Session& session, const ForeignExecutor& executor, LentCalls* lent,
             double seconds, int threads,
             const std::function<void()>& progress);

  // The best of its rounds. An error if any case is wrong.
  absl::StatusOr<BenchResult::Fused> Time(const FusedWork& work,
                                          std::size_t batch);

 private:
  struct Stages;

  std::unique_ptr<const FusedCase> Together() const;
  absl::StatusOr<Stages> Call();
  absl::Status OnLentMemory(const FusedCase& fused, Stages* stages);
  absl::Status OnOwnMemory(const FusedCase* fused, Stages* stages);

  Session& session_;
  const ForeignExecutor& executor_;
  LentCalls* const lent_;
  const double seconds_;
  const std::function<void()>& progress_;
  const Contracts contracts_;
  const int threads_;
  std::vector<Case> cases_;  // images point to them
  std::vector<CaseImage> images_;
  std::unique_ptr<const FusedCase> next_;  // of the images, too
};

// Calls that 1, 16, 256, 4,096 and 65,536 cases share, of each kernel that the
// targets have; and how those of 256 grow with tokens, indices, keys and heads.
absl::Status BenchFused(Session& session, ForeignExecutor& executor,
                        double seconds, const std::function<void()>& progress,
                        BenchResult& result);

// Calls of `batch` cases alone, by `threads` (0: one a processor).
absl::Status BenchOneBatch(Session& session, ForeignExecutor& executor,
                           std::size_t batch, int threads, double seconds,
                           const std::function<void()>& progress,
                           BenchResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_BENCH_FUSED_H_
