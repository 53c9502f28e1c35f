// The state of the block that runs, shared by the scheduler, the texts of
// faults and the race detector. Private to the runtime.
#ifndef MLAFUZZ_KERNELS_SIMT_BLOCK_STATE_H_
#define MLAFUZZ_KERNELS_SIMT_BLOCK_STATE_H_

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "kernels/simt/fiber.h"
#include "kernels/simt/host_backend.h"
#include "kernels/simt/launch_types.h"
#include "kernels/simt/shared_memory.h"

namespace mlafuzz::simt {
inline namespace host {

// One cache line.
struct alignas(64) Lane : LaneCoordinates {
  // Apart from what each operation stores, which would stall their loads.
  std::uint16_t index;  // within the warp
  std::uint16_t warp;
  WarpOp op;  // what it waits for, if it waits in a warp
  bool has_site;
  std::int16_t width;
  std::uint32_t mask;
  std::uint32_t operand;
  std::uint32_t clock;  // Lamport clock of __syncwarp, for the race detector
  std::uint64_t value;
  std::uint64_t result;
  std::source_location site;  // of its last synchronisation
  Fiber* fiber;               // where it is suspended; null before it starts

  std::uint32_t bit() const { return 1u << index; }
};
static_assert(sizeof(Lane) == 64);

// Sets of lanes. An alive lane in neither of the others is the current one or
// waits at the block's barrier.
struct Warp {
  std::uint32_t alive;
  std::uint32_t waiting;  // in a warp intrinsic
  std::uint32_t runnable;
};

// What stopped a launch; turned into text once off the lane's small stack.
struct Fault {
  FaultKind kind = FaultKind::kNone;
  const char* what = "";
  const Lane* lane = nullptr;  // null if it is nobody's fault in particular
  // Races only.
  const Lane* other = nullptr;
  const char* region = "";
  std::size_t offset = 0;
  std::uintptr_t code_offset = 0;  // of the access, in the program
};

struct BlockState {
  Lane lanes[kMaxBlockLanes];
  Warp warps[kMaxBlockLanes / 32];
  unsigned warp_count = 0;
  std::uint32_t ready_warps = 0;  // those with runnable lanes
  unsigned live = 0;
  unsigned at_barrier = 0;
  std::source_location barrier_site;
  // Counts block barriers and block starts of the whole process. Never reset,
  // so that the race detector need not clear its shadow.
  std::uint32_t epoch = 0;
  std::uint64_t sync_ops_left = 0;
  Fault fault;
  SharedMemory shared;
};

extern BlockState block;

inline Lane* CurrentLane() { return static_cast<Lane*>(current_lane); }

// Whether the calling thread is inside a lane.
bool LaneRunsOnThisThread();

// Stops the launch, never to come back to this lane.
[[noreturn]] void Fail(const Fault& fault);

// The LaunchResult::message for block.fault.
std::string DescribeFault();

}  // namespace host
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_BLOCK_STATE_H_
