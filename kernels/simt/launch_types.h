// Types of a launch that are the same on both backends, so that code which
// never sees a kernel can pass schedules in and results out.
#ifndef MLAFUZZ_KERNELS_SIMT_LAUNCH_TYPES_H_
#define MLAFUZZ_KERNELS_SIMT_LAUNCH_TYPES_H_

#include <cstdint>
#include <string>

namespace mlafuzz::simt {

// Why a launch did not run to its end.
enum class FaultKind : std::uint8_t {
  kNone,
  kDeadlock,           // no lane can run, some have not finished
  kBarrierDivergence,  // lanes meet at different __syncthreads()
  kWarpOpMismatch,     // different warp intrinsics under one mask
  kNotInMask,          // a lane calls a warp intrinsic, its mask lacks it
  kBadShuffle,         // the source does not take part, or a bad width
  kSharedRace,         // race detector flavour only
  kBadConfiguration,   // refused before any lane ran
  kWatchdog,           // more synchronisation than Config::sync_limit
  kAbandoned,          // a lane crashed and its signal handler gave it up
  kBackendError,       // CUDA error, or the host runtime lacks memory
};

// The words with which LaunchResult::message starts.
constexpr const char* FaultName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return "ok";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kBarrierDivergence:
      return "barrier divergence";
    case FaultKind::kWarpOpMismatch:
      return "warp operation mismatch";
    case FaultKind::kNotInMask:
      return "lane not in its own mask";
    case FaultKind::kBadShuffle:
      return "bad shuffle";
    case FaultKind::kSharedRace:
      return "shared-memory race";
    case FaultKind::kBadConfiguration:
      return "bad launch configuration";
    case FaultKind::kWatchdog:
      return "watchdog";
    case FaultKind::kAbandoned:
      return "abandoned";
    case FaultKind::kBackendError:
      return "backend error";
  }
  return "unknown fault";
}

struct [[nodiscard]] LaunchResult {
  FaultKind kind = FaultKind::kNone;
  // Empty when ok. On the host backend: which block, which lanes wait where.
  // Holds no addresses, so equal faults give equal texts.
  std::string message;

  bool ok() const { return kind == FaultKind::kNone; }
};

// The order in which lanes run between synchronisations. A lane runs until it
// has to wait, so the order decides who is far ahead of whom.
enum class LaneOrder : std::uint8_t {
  kInOrder,     // lowest lane of the current warp, then lowest warp
  kReverse,     // highest lane of the current warp, then highest warp
  kStickyWarp,  // random lane of the current warp while that has any
  kRandom,      // random warp, random lane, anew at every wait
};

// Who runs when, as a function of one number from the fuzz input.
//
//   bits 0..1   lane order, as LaneOrder counts
//   bit  2      blocks run from the last to the first
//   bits 3..63  zero: no rotation of the block order; else it is drawn
//
// All 64 bits seed the random orders. Seed 0 therefore is "in order"
// throughout. The orders find different faults (a consumer with a higher lane
// number than its producer looks right in order), so use all of them.
// The CUDA backend ignores the schedule.
struct Schedule {
  std::uint64_t seed = 0;

  static constexpr Schedule Of(LaneOrder order, std::uint64_t salt = 0) {
    return {salt << 3 | static_cast<std::uint64_t>(order)};
  }
  constexpr LaneOrder lane_order() const {
    return static_cast<LaneOrder>(seed & 3);
  }
  constexpr bool blocks_reversed() const { return (seed >> 2 & 1) != 0; }
};

}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_LAUNCH_TYPES_H_
