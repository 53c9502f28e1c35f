#ifndef MLAFUZZ_KERNELS_STAGING_H_
#define MLAFUZZ_KERNELS_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/crash_guard.h"
#include "kernels/guarded_memory.h"

namespace mlafuzz {

// The seed of redzones' patterns. Any constant will do, and the same one makes
// runs comparable.
inline constexpr std::uint64_t kPatternSeed = 0x6d6c6166757a7a;

// Where the buffers of one step lie in an arena: those of the tensors one after
// another, that of the pool somewhere before.
struct StagedStep {
  std::size_t pool_buffer = 0;      // index into the arena's buffers
  std::size_t first_buffer = 1;     // the first tensor's
  std::vector<std::uint8_t*> data;  // by tensor
};

// Adds the pool, or the tensors of a step, to the arena with their contents.
absl::StatusOr<std::uint8_t*> StagePool(const PoolImage& pool,
                                        GuardedArena& arena);
absl::Status StageTensors(const StepImage& step, GuardedArena& arena,
                          StagedStep* staged);

// What a Patch step does, to the pool's staged bytes.
void ApplyStagedPatch(const Patch& patch, const PoolImage& pool,
                      std::uint8_t* staged);

// Fills outputs and strays with what a call has left; repairs the redzones.
void InspectStep(GuardedArena& arena, const StepImage& step,
                 const StagedStep& staged, StepObservation* seen);

// Keeps a copy of the pool's staged bytes in `seen` if they are others than
// `last`, which then is the copy: a step without one has left the pool as it
// was.
void KeepPool(const std::uint8_t* staged, StepObservation* seen,
              const std::vector<std::uint8_t>** last);

// "SIGSEGV at pool - 2816 KiB": the same words for the same fault wherever the
// arena lies.
std::string DescribeCrash(const Crash& crash, const GuardedArena& arena,
                          const PoolImage& pool, const StepImage& step,
                          const StagedStep& staged);

// Where it was; nullopt for a signal that is no memory access, or an address
// that the processor does not tell.
std::optional<MemoryFault> FaultOf(const Crash& crash,
                                   const GuardedArena& arena,
                                   const StagedStep& staged);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_STAGING_H_
