#ifndef MLAFUZZ_KERNELS_IN_PROCESS_CALL_H_
#define MLAFUZZ_KERNELS_IN_PROCESS_CALL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/guarded_memory.h"
#include "kernels/staging.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Makes the call of one staged step in this process: redzones armed, under the
// crash guard, sanitizer reports collected. Fills status, message and reports
// of `seen`. `pool_data`: the pool's bytes in the arena. Fails only if the
// arena does.
absl::Status CallInProcess(Target* target, const PoolImage& pool,
                           std::uint8_t* pool_data, const StepImage& step,
                           const StagedStep& staged, std::uint64_t schedule,
                           GuardedArena& arena, StepObservation* seen);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_IN_PROCESS_CALL_H_
