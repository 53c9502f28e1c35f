#ifndef MLAFUZZ_KERNELS_FOREIGN_JOINT_RUN_H_
#define MLAFUZZ_KERNELS_FOREIGN_JOINT_RUN_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "kernels/foreign/case_run.h"
#include "kernels/foreign/runners.h"
#include "kernels/guarded_memory.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// What cases run on.
struct RunPlace {
  const TargetSet& targets;
  GuardedArena& arena;  // in which the tensors of foreign calls lie as well
  Runners& runners;     // of that arena
  // Calls by Kernel, to be counted on.
  std::array<std::uint64_t, kAllKernels.size()>& executions;
};

// Runs cases together, from their first step on, and overwrites their
// observations: the pools of all are staged; then, step by step, the tensors of
// that step of all cases, and each runner makes its calls of the step in one
// exchange. What is kept are copies: a runner that goes on writing changes no
// verdict. The death of a runner ends the run; the case that it is put down to
// has it as its last step's end, what others have by then is a part. Fails if
// the arena does, or a runner cannot be started.
absl::StatusOr<std::optional<Casualty>> RunTogether(
    const RunPlace& place, absl::Span<const CaseRun> cases);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_JOINT_RUN_H_
