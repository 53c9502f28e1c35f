// The host backend's executor. For each case:
//
//   1. The pool goes into the guarded arena and stays there for all steps.
//   2. A step's tensors are placed below it; the next step's take their place.
//   3. The arena is armed, the call made under the crash guard with sanitizer
//      reports collected, the arena disarmed.
//   4. Pool, inputs and redzones are compared with what they were.
//
// A step that crashed is the last of its case; the next case starts afresh.

#include "kernels/executor.h"
#include "kernels/guarded_memory.h"
#include "kernels/in_process_call.h"
#include "kernels/staging.h"

namespace mlafuzz {
namespace {

class HostExecutor : public Executor {
 public:
  HostExecutor() : arena_(kPatternSeed) {}

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override {
    observations->clear();
    observations->reserve(images.size());
    for (const CaseImage& image : images) {
      observations->emplace_back();
      if (absl::Status status = RunCase(targets, image, observations->back());
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executions_;
  }

 private:
  absl::Status RunCase(const TargetSet& targets, const CaseImage& image,
                       Observation& observation) {
    arena_.Truncate(0);
    const PoolImage& pool = image.pool;
    const absl::StatusOr<std::uint8_t*> staged = StagePool(pool, arena_);
    if (!staged.ok()) return staged.status();
    // The pool's bytes as the last step left them: the image's, or those in an
    // observation, which must not move.
    const std::vector<std::uint8_t>* last_pool = &pool.bytes;
    observation.steps.reserve(image.steps.size());
    const std::uint64_t schedule =
        image.source != nullptr ? image.source->schedule() : 0;
    for (const StepImage& step : image.steps) {
      observation.steps.emplace_back();
      StepObservation& seen = observation.steps.back();
      if (step.is_patch) {
        ApplyStagedPatch(step.step->patch(), pool, *staged);
      } else if (absl::Status status =
                     RunStep(targets, pool, *staged, schedule, step, seen);
                 !status.ok()) {
        return status;
      }
      KeepPool(*staged, &seen, &last_pool);
      if (seen.status == CallStatus::kCrash) break;
    }
    return absl::OkStatus();
  }

  absl::Status RunStep(const TargetSet& targets, const PoolImage& pool,
                       std::uint8_t* staged_pool, std::uint64_t schedule,
                       const StepImage& step, StepObservation& seen) {
    arena_.Truncate(1);
    if (absl::Status status = StageTensors(step, arena_, &staged_);
        !status.ok()) {
      return status;
    }
    Target* const target = targets.For(step.kernel);
    if (target != nullptr && target->Implements(step.kernel)) {
      ++executions_[static_cast<std::size_t>(step.kernel)];
    }
    if (absl::Status status = CallInProcess(target, pool, staged_pool, step,
                                            staged_, schedule, arena_, &seen);
        !status.ok()) {
      return status;
    }
    InspectStep(arena_, step, staged_, &seen);
    return absl::OkStatus();
  }

  GuardedArena arena_;
  std::array<std::uint64_t, kAllKernels.size()> executions_{};
  StagedStep staged_;
};

}  // namespace

std::unique_ptr<Executor> MakeHostExecutor() {
  return std::make_unique<HostExecutor>();
}

}  // namespace mlafuzz
