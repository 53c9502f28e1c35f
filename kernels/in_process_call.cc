#include "kernels/in_process_call.h"

#include <optional>
#include <utility>

#include "kernels/call_args.h"
#include "kernels/crash_guard.h"
#include "kernels/sanitizer_hooks.h"

namespace mlafuzz {

absl::Status CallInProcess(Target* target, const PoolImage& pool,
                           std::uint8_t* pool_data, const StepImage& step,
                           const StagedStep& staged, std::uint64_t schedule,
                           GuardedArena& arena, StepObservation* seen) {
  const CallArgs args(pool, pool_data + pool.offset, step, staged.data,
                      {kDLCPU, 0});
  CallResult result;
  if (absl::Status status = arena.Arm(); !status.ok()) return status;
  std::optional<Crash> crash;
  {
    const SanitizerReports collecting(&seen->reports);
    crash = CrashGuard::Run([&] {
      result = args.Call(target, {.schedule = schedule, .stream = nullptr});
    });
  }
  arena.Disarm();
  if (crash.has_value()) {
    seen->status = CallStatus::kCrash;
    seen->message = DescribeCrash(*crash, arena, pool, step, staged);
    seen->fault = FaultOf(*crash, arena, staged);
  } else {
    seen->status = result.status;
    seen->message = std::move(result.message);
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
