#ifndef MLAFUZZ_KERNELS_FOREIGN_RUNNERS_H_
#define MLAFUZZ_KERNELS_FOREIGN_RUNNERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corpus/observation.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/lent_memory.h"
#include "kernels/foreign/runner_counts.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/foreign/wire_encoder.h"
#include "kernels/guarded_memory.h"

namespace mlafuzz {

// The runners of all foreign targets, one a target, each started when it is
// first needed and kept until it dies or is ended; and what they have cost.
class Runners {
 public:
  // The tensors of all calls lie in `arena`, of shared memory, which must
  // outlive this and be mapped when a runner is asked for.
  explicit Runners(const GuardedArena& arena) : arena_(arena) {}

  // Has runners of GPU `device` that start from now on take `memory`, which
  // must outlive this; those that run are ended.
  void Lend(const LentMemory& memory, int device);
  // Whether a runner of `target` takes lent memory.
  bool IsLentTo(const ForeignTarget& target) const;

  // The runner of a target, started if there is none. FailedPrecondition if it
  // would load another file than the target was made of.
  absl::StatusOr<const RunnerProcess*> Of(const ForeignTarget& target);

  // What became of the calls of one exchange.
  struct Outcome {
    // That the same process had been asked to make before.
    std::uint64_t earlier_calls = 0;
    // One a call, unless the runner died.
    std::vector<RunnerProcess::Reply> replies;
    std::optional<RunnerProcess::Death> death;
    // What a sanitizer reported of them; it speaks when its process ends.
    std::vector<std::string> reports;
  };
  // Has the runner of `target` make the calls that `encoder` holds. A runner
  // that dies, or whose sanitizer had to speak, is forgotten.
  absl::StatusOr<Outcome> Exchange(const ForeignTarget& target,
                                   const WireEncoder& encoder);

  void EndAll() { runners_.clear(); }

  // Ends all; those that start from now on have `times` as long for a call as
  // their target's limit.
  void SetPatience(double times);
  // Whether an exchange since took longer than that limit. For exchanges of one
  // call.
  bool Overran() const { return overran_; }

  const RunnerCounts& counts() const { return counts_; }

 private:
  struct Runner {
    std::unique_ptr<RunnerProcess> process;
    std::uint64_t calls = 0;  // that it was asked to make
  };

  absl::StatusOr<Runner*> Started(const ForeignTarget& target);
  std::optional<RunnerProcess::Death> RunTimed(
      const ForeignTarget& target, RunnerProcess& runner,
      const WireEncoder& encoder, std::vector<RunnerProcess::Reply>* replies);

  const GuardedArena& arena_;
  std::map<std::string, Runner> runners_;  // by target
  RunnerCounts counts_;
  LentDescriptor lent_;  // none: nothing is lent
  int lent_to_ = -2;     // the GPU whose runners take it
  double patience_ = 1;
  bool overran_ = false;
};

// How a call of a runner that lives on has ended.
CallStatus StatusOf(const RunnerProcess::Reply& reply);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_RUNNERS_H_
