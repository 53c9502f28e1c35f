// launch() on the host, and what the CUDA vocabulary needs from the runtime.
#ifndef MLAFUZZ_KERNELS_SIMT_HOST_BACKEND_H_
#define MLAFUZZ_KERNELS_SIMT_HOST_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/simt/cuda_types.h"
#include "kernels/simt/launch_types.h"

#define SIMT_BACKEND host

namespace mlafuzz::simt {
inline namespace host {

using Stream = void*;

// What an H100 lets one block have.
inline constexpr std::size_t kMaxDynamicShared = 227 << 10;
inline constexpr unsigned kMaxBlockLanes = 1024;

struct Config {
  dim3 grid = dim3();
  dim3 block = dim3();
  std::size_t dyn_smem = 0;  // bytes
  Stream stream = nullptr;   // ignored
  Schedule schedule = {};
  // Barriers and warp intrinsics over all lanes of the launch; about 5 s. A
  // loop that synchronises and never ends is stopped by this.
  std::uint64_t sync_limit = std::uint64_t{1} << 28;
};

// Runs `body(context)` once for each lane. launch() is the typed form.
LaunchResult RunGrid(const Config& config, void (*body)(void*), void* context);

// Runs the kernel to its end on the calling thread; launches of several
// threads take turns. Whatever the result, the next launch works.
template <class... Params, class... Args>
LaunchResult launch(const Config& config, void (*kernel)(Params...),
                    Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args));
  static_assert(((std::is_trivially_copy_constructible_v<Params> &&
                  std::is_trivially_destructible_v<Params>) &&
                 ...),
                "the device gets parameters as bytes");
  struct Call {
    void (*kernel)(Params...);
    std::tuple<Params...> params;
  } call{kernel, {static_cast<Params>(std::forward<Args>(args))...}};
  return RunGrid(
      config,
      [](void* context) {
        const Call& call = *static_cast<const Call*>(context);
        std::apply(call.kernel, call.params);  // each lane gets its own copy
      },
      &call);
}

// Launches have ended when they return; here for symmetry with the GPU.
inline LaunchResult synchronize(Stream = nullptr) { return {}; }

// Of GPUs; here the schedule orders lanes.
inline void Perturb(std::uint64_t, unsigned) {}

// ---------------------------------------------------------------------------
// For host_vocabulary.h.

// The part of a lane that kernels see. The runtime's lane derives from it.
struct LaneCoordinates {
  uint3 thread;
};

// The lane that runs now; null outside a launch.
extern constinit LaneCoordinates* current_lane;
extern constinit uint3 block_index;
extern constinit dim3 block_dim;
extern constinit dim3 grid_dim;

enum class WarpOp : std::uint8_t {
  kSyncWarp,
  kBallot,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
};

// Waits for the lanes of the mask. `operand` is the shuffle's third parameter.
// Address computations of shuffles are done in the runtime, which carries no
// coverage: in the kernel they would be noise in every corpus.
std::uint64_t MeetWarp(WarpOp op, std::uint32_t mask, std::uint64_t value,
                       std::uint32_t operand, int width,
                       std::source_location site);

void MeetBlock(std::source_location site);

void* DynamicSharedMemory();

#ifdef MLAFUZZ_RACE_DETECTOR
// An atomic access to *address; defined by the race detector.
void TraceAtomic(const volatile void* address, std::size_t size);
#else
inline void TraceAtomic(const volatile void*, std::size_t) {}
#endif

}  // namespace host
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_HOST_BACKEND_H_
