#ifndef MLAFUZZ_KERNELS_FOREIGN_EXECUTOR_H_
#define MLAFUZZ_KERNELS_FOREIGN_EXECUTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/foreign/lent_memory.h"
#include "kernels/foreign/wire.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// What runs of foreign targets have cost.
struct RunnerCounts {
  std::uint64_t starts = 0;
  std::uint64_t deaths = 0;
  // Between asking and answer, and of that in the target's own code, where the
  // runner tells: the rest is what the bridge costs.
  double exchange_seconds = 0;
  double busy_seconds = 0;
  // Of exchanges with devices, by wire::kStage*, and the rates of their memory
  // in bytes a second; 0 unless $MLAFUZZ_STAGE_TIMES is set.
  std::array<double, wire::kStages> stage_seconds = {};
  double device_rate = 0;
  double in_rate = 0;
  double out_rate = 0;
};

// A step whose tensors lie in lent memory.
struct LentCall {
  // What the tensors are told to be; none has bytes.
  const CaseImage* image = nullptr;
  std::size_t step = 0;
  // Offsets in the lent memory, and bytes: of the pool (its byte 0, not page 0)
  // and by tensor.
  struct Place {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  Place pool;
  std::vector<Place> tensors;
};

struct CallEnd {
  CallStatus status = CallStatus::kOk;
  std::string message;
};

// Runs the steps of foreign targets in runners, one process a library, and
// those of compiled-in targets in this process, on the same guarded memory. How
// a batch goes:
//
//   1. The pools of all cases are staged; then, step by step, the tensors of
//      that step of all cases.
//   2. Each runner makes its calls of the step in one exchange.
//   3. This process inspects every case. What it keeps are copies: a runner
//      that goes on writing changes no verdict.
//
// When a runner dies, the call that its note points at is run alone in a fresh
// one, three times; if it dies there, the case has its verdict and the others
// go on. Else the culprit is looked for by halving: the last case without which
// those up to the dead one live on. If it does not die alone, it says so.
// FailedPrecondition if a fresh runner would load another file than the target
// was made of. Damage outside a case's tensors has all cases of the batch run
// alone, so that none pays for its neighbour. A call that does not end in time
// is made once more, alone, with four times the time: one that needs more than
// its limit then, and ends, is slow and no fault.
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
