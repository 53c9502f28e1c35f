#ifndef MLAFUZZ_KERNELS_FOREIGN_EXECUTOR_H_
#define MLAFUZZ_KERNELS_FOREIGN_EXECUTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/foreign/lent_calls.h"
#include "kernels/foreign/lent_memory.h"
#include "kernels/foreign/runner_counts.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Runs the steps of foreign targets in runners, one process a library, and
// those of compiled-in targets in this process, on the same guarded memory. How
// a batch goes:
//
//   1. Its cases run together, step by step (joint_run.h): one exchange a
//      runner and step.
//   2. Those that kill a runner, or write where they must not, are told from
//      their neighbours (isolation.h), and have their own verdicts.
//
// FailedPrecondition if a fresh runner would load another file than the target
// was made of. A call that needs more than its limit, but ends when it is alone
// and has four times the time, is slow and no fault.
class ForeignExecutor : public Executor {
 public:
  virtual RunnerCounts counts() const = 0;

  // Has runners of GPU `device` that start from now on take `memory`, which
  // must outlive this; those that run are ended.
  virtual void Lend(const LentMemory& memory, int device) = 0;

  // Makes calls of one step each on lent memory, where their tensors lie, in
  // one exchange. Says how each ended; where one ends the runner, all have that
  // end. What they left is in the memory. FailedPrecondition: a step's target
  // takes no such calls, or they are not all of one target.
  virtual absl::Status CallLent(const TargetSet& targets,
                                absl::Span<const LentCall> calls,
                                std::vector<CallEnd>* ends) = 0;
};

// Most cases of one batch.
inline constexpr int kLargestBatch = 4096;

// For sets with a foreign target.
std::unique_ptr<ForeignExecutor> MakeForeignExecutor();

// The host's, or if any target is foreign, the one with processes.
std::unique_ptr<Executor> MakeExecutor(const TargetSet& targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_EXECUTOR_H_
