// The scheduler: lanes as fibers. How it works:
//
// 1. A block starts with all lanes runnable and none started. The first lane
//    gets a fiber.
// 2. A lane that has to wait picks the next lane by the schedule and jumps
//    straight to its fiber, or to a fresh one if that lane has not started.
// 3. A lane that ends picks the next lane. If that has not started it simply
//    runs it on its own fiber: kernels without synchronisation need one.
// 4. The last lane to arrive at a warp intrinsic or barrier does the work for
//    all who wait there, makes them runnable, and goes on itself. Results lie
//    in the lanes, so the next intrinsic cannot overwrite what a slow lane has
//    not read yet.
// 5. No runnable lane but live ones: deadlock, known at once.
// 6. On any fault the lane jumps to the launching thread's own stack, which
//    drops all lanes and takes their fibers back.
//
// Compiled without sanitizers and coverage in every configuration: the
// scheduler must not look like progress to a fuzzer.

#include <bit>
#include <cstring>
#include <mutex>

#include "kernels/simt/block_state.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/host_backend.h"

namespace mlafuzz::simt {
inline namespace host {

constinit LaneCoordinates* current_lane = nullptr;
constinit uint3 block_index{};
constinit dim3 block_dim;
constinit dim3 grid_dim;
BlockState block;

namespace {

FiberPool pool;
Fiber launcher;  // stands for the launching thread's own stack
Fiber* current_fiber = nullptr;

void (*lane_body)(void*) = nullptr;
void* lane_context = nullptr;

LaneOrder order = LaneOrder::kInOrder;
std::uint64_t random_state = 1;

thread_local constinit bool launching = false;

// ------------------------------------------------------------------ Choosing

std::uint32_t Random() {  // xorshift64
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<std::uint32_t>(random_state >> 32);
}

// splitmix64's finaliser; keeps 0.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

unsigned Choose(std::uint32_t set) {
  if (order == LaneOrder::kInOrder) return std::countr_zero(set);
  if (order == LaneOrder::kReverse) return 31 - std::countl_zero(set);
  // Uniform: the k-th set bit. A random rotation and then the lowest bit would
  // favour the bit after a gap, down to 3 % for its neighbour.
  unsigned k =
      static_cast<unsigned>(static_cast<std::uint64_t>(Random()) *
                                static_cast<unsigned>(std::popcount(set)) >>
                            32);
#ifdef __BMI2__
  return std::countr_zero(__builtin_ia32_pdep_si(1u << k, set));
#else
  while (k-- > 0) set &= set - 1;
  return std::countr_zero(set);
#endif
}

// Takes the next lane to run, null if there is none.
Lane* TakeNext() {
  if (block.ready_warps == 0) return nullptr;
  const Lane* last = CurrentLane();
  const bool stay = order != LaneOrder::kRandom && last != nullptr &&
                    (block.ready_warps >> last->warp & 1) != 0;
  const unsigned w = stay ? last->warp : Choose(block.ready_warps);
  Warp& warp = block.warps[w];
  const unsigned l = Choose(warp.runnable);
  warp.runnable &= ~(1u << l);
  if (warp.runnable == 0) block.ready_warps &= ~(1u << w);
  return &block.lanes[w * 32 + l];
}

// ----------------------------------------------------------------- Switching

inline void SwitchTo(Lane& lane) {
  Fiber& from = *current_fiber;
  Fiber& to = lane.fiber != nullptr ? *lane.fiber : pool.Acquire();
  current_lane = &lane;
  current_fiber = &to;
  Jump(from, to);
}

// Suspends the current lane until somebody makes it runnable. Inlined, since a
// fiber that is resumed mispredicts each return: 5 ns a call level.
__attribute__((always_inline)) inline void Wait() {
  Lane* next = TakeNext();
  if (next == nullptr) {
    Fail({.kind = FaultKind::kDeadlock, .what = "no lane can run"});
  }
  CurrentLane()->fiber = current_fiber;
  SwitchTo(*next);
}

void CountSyncOp(Lane& lane) {
  if (block.sync_ops_left-- == 0) {
    Fail({.kind = FaultKind::kWatchdog,
          .what = "the launch has reached its sync_limit",
          .lane = &lane});
  }
}

// ----------------------------------------------------------- Warp intrinsics

// The lane from whose value `lane` gets its result.
unsigned ShuffleSource(const Lane& lane) {
  const unsigned width = static_cast<unsigned>(int{lane.width});
  const unsigned first = lane.index & ~(width - 1);
  const unsigned last = first + width - 1;
  switch (lane.op) {
    case WarpOp::kShuffle:
      return first + (lane.operand & (width - 1));
    case WarpOp::kShuffleUp:
      return lane.operand > lane.index - first ? lane.index
                                               : lane.index - lane.operand;
    case WarpOp::kShuffleDown:
      return lane.operand > last - lane.index ? lane.index
                                              : lane.index + lane.operand;
    case WarpOp::kShuffleXor: {
      // Earlier segments can be read, later ones cannot.
      const unsigned source = lane.index ^ lane.operand;
      return source > last ? lane.index : source;
    }
    default:
      return lane.index;
  }
}

// If all lanes of the mask wait with this mask, gives them their results and
// makes all but `caller` runnable. Exited lanes no longer count.
bool TryComplete(Warp& warp, Lane* lanes, const Lane& first,
                 const Lane* caller) {
  const std::uint32_t mask = first.mask;
  const std::uint32_t members = mask & warp.alive;
  if ((warp.waiting & members) != members) return false;
  std::uint32_t ballot = 0;
  std::uint32_t clock = 0;
  for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
    const Lane& lane = lanes[std::countr_zero(rest)];
    // It may wait for another group first; that is legal.
    if (lane.mask != mask) return false;
    if (lane.op != first.op) {
      Fail({.kind = FaultKind::kWarpOpMismatch,
            .what = "lanes under one mask call different intrinsics",
            .lane = &lane});
    }
    ballot |= static_cast<std::uint32_t>(lane.value & 1) << lane.index;
    if (lane.clock > clock) clock = lane.clock;
  }
  for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
    Lane& lane = lanes[std::countr_zero(rest)];
    switch (first.op) {
      case WarpOp::kSyncWarp:
        lane.clock = clock + 1;  // shuffles and votes do not order memory
        break;
      case WarpOp::kBallot:
        lane.result = ballot;
        break;
      default: {
        const unsigned source = ShuffleSource(lane);
        if (source > 31 || (members >> source & 1) == 0) {
          Fail({.kind = FaultKind::kBadShuffle,
                .what = "the source lane does not take part",
                .lane = &lane});
        }
        lane.result = lanes[source].value;
      }
    }
  }
  warp.waiting &= ~members;
  warp.runnable |= caller != nullptr ? members & ~caller->bit() : members;
  if (warp.runnable != 0) block.ready_warps |= 1u << (&warp - block.warps);
  return true;
}

// ------------------------------------------------------------- Block barrier

bool SameSite(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() ||
          std::strcmp(a.file_name(), b.file_name()) == 0);
}

void ReleaseBarrier(const Lane* caller) {
  block.at_barrier = 0;
  ++block.epoch;
  for (unsigned w = 0; w < block.warp_count; ++w) {
    Warp& warp = block.warps[w];
    warp.runnable = warp.alive;
    if (caller != nullptr && caller->warp == w) {
      warp.runnable &= ~caller->bit();
    }
    if (warp.runnable != 0) block.ready_warps |= 1u << w;
  }
}

// ------------------------------------------------------------ Life of a lane

void EndLane(Lane& lane) {
  Warp& warp = block.warps[lane.warp];
  warp.alive &= ~lane.bit();
  --block.live;
  if (block.at_barrier != 0 && block.at_barrier == block.live) {
    ReleaseBarrier(nullptr);
  }
  Lane* lanes = &block.lanes[lane.warp * 32];
  for (std::uint32_t rest = warp.waiting; rest != 0; rest &= rest - 1) {
    const Lane& waiting = lanes[std::countr_zero(rest)];
    // An earlier round may have completed it.
    if ((warp.waiting & waiting.bit()) == 0) continue;
    TryComplete(warp, lanes, waiting, nullptr);
  }
}

// Every fiber does this, for one lane after the other.
void FiberEntry(boost::context::detail::transfer_t came) {
  Arrived(came);
  for (;;) {
    lane_body(lane_context);
    EndLane(*CurrentLane());
    Lane* next = TakeNext();
    if (next == nullptr && block.live != 0) {
      Fail({.kind = FaultKind::kDeadlock, .what = "no lane can run"});
    }
    if (next != nullptr && next->fiber == nullptr) {
      current_lane = next;
      continue;
    }
    Fiber& self = *current_fiber;
    pool.Release(self);
    current_lane = next;
    current_fiber = next != nullptr ? next->fiber : &launcher;
    Jump(self, *current_fiber);
    // Acquired again, for the lane that is current now.
  }
}

// ------------------------------------------------------------------- Launches

const char* WhyRefused(const Config& config) {
  const dim3& g = config.grid;
  const dim3& b = config.block;
  if (g.x == 0 || g.y == 0 || g.z == 0) return "the grid is empty";
  if (b.x == 0 || b.y == 0 || b.z == 0) return "the block is empty";
  if (g.x > 0x7fffffffu || g.y > 0xffffu || g.z > 0xffffu) {
    return "the grid is larger than 2147483647 x 65535 x 65535";
  }
  if (b.x > 1024 || b.y > 1024 || b.z > 64 || b.x * b.y * b.z > 1024) {
    return "the block has more than 1024 lanes, or more than 64 in z";
  }
  if (config.dyn_smem > kMaxDynamicShared) {
    return "more than 227 KiB of dynamic shared memory";
  }
  return nullptr;
}

void PlaceLanes(const dim3& shape) {
  unsigned i = 0;
  for (unsigned z = 0; z < shape.z; ++z) {
    for (unsigned y = 0; y < shape.y; ++y) {
      for (unsigned x = 0; x < shape.x; ++x, ++i) {
        block.lanes[i].thread = {x, y, z};
        block.lanes[i].index = static_cast<std::uint16_t>(i % 32);
        block.lanes[i].warp = static_cast<std::uint16_t>(i / 32);
      }
    }
  }
  block.warp_count = (i + 31) / 32;
}

void RunBlock(unsigned lane_count) {
  block.shared.FillWithGarbage();
  block.live = lane_count;
  block.at_barrier = 0;
  ++block.epoch;
  block.ready_warps = 0;
  for (unsigned w = 0; w < block.warp_count; ++w) {
    const unsigned lanes_left = lane_count - w * 32;
    const std::uint32_t all = lanes_left >= 32 ? ~0u : (1u << lanes_left) - 1;
    block.warps[w] = {.alive = all, .waiting = 0, .runnable = all};
    block.ready_warps |= 1u << w;
  }
  for (unsigned i = 0; i < lane_count; ++i) {
    block.lanes[i].fiber = nullptr;
    block.lanes[i].has_site = false;
    block.lanes[i].clock = 0;
  }
  current_fiber = &launcher;
  SwitchTo(*TakeNext());
  current_lane = nullptr;
}

// False if a fault stopped it.
bool RunBlocks(const dim3& grid, unsigned lane_count,
               const Schedule& schedule) {
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;
  const std::uint64_t count = plane * grid.z;
  const std::uint64_t first = Mix(schedule.seed >> 3) % count;
  for (std::uint64_t k = 0; k < count; ++k) {
    std::uint64_t b = k < count - first ? first + k : k - (count - first);
    if (schedule.blocks_reversed()) b = count - 1 - b;
    block_index = {static_cast<unsigned>(b % grid.x),
                   static_cast<unsigned>(b / grid.x % grid.y),
                   static_cast<unsigned>(b / plane)};
    RunBlock(lane_count);
    if (block.fault.kind != FaultKind::kNone) return false;
  }
  return true;
}

LaunchResult Refuse(FaultKind kind, const char* why) {
  return {kind, std::string(FaultName(kind)) + ": " + why};
}

}  // namespace

void Fail(const Fault& fault) {
  block.fault = fault;
  // Nobody has seen a crash coming; it is the doing of the lane that ran.
  if (fault.kind == FaultKind::kAbandoned) block.fault.lane = CurrentLane();
  Jump(*current_fiber, launcher);
  __builtin_unreachable();
}

std::uint64_t MeetWarp(WarpOp op, std::uint32_t mask, std::uint64_t value,
                       std::uint32_t operand, int width,
                       std::source_location site) {
  Lane& lane = *CurrentLane();
  lane.op = op;
  lane.mask = mask;
  lane.value = value;
  lane.operand = operand;
  lane.width = static_cast<std::int16_t>(width);
  lane.site = site;
  lane.has_site = true;
  CountSyncOp(lane);
  if ((mask & lane.bit()) == 0) {
    Fail({.kind = FaultKind::kNotInMask,
          .what = "the mask does not name the calling lane",
          .lane = &lane});
  }
  if (width <= 0 || width > 32 || !std::has_single_bit(unsigned(width))) {
    Fail({.kind = FaultKind::kBadShuffle,
          .what = "the width is not a power of two up to 32",
          .lane = &lane});
  }
  Warp& warp = block.warps[lane.warp];
  warp.waiting |= lane.bit();
  if (!TryComplete(warp, &block.lanes[lane.warp * 32], lane, &lane)) Wait();
  return lane.result;
}

void MeetBlock(std::source_location site) {
  Lane& lane = *CurrentLane();
  lane.site = site;
  lane.has_site = true;
  CountSyncOp(lane);
  if (block.at_barrier++ == 0) {
    block.barrier_site = site;
  } else if (!SameSite(site, block.barrier_site)) {
    Fail({.kind = FaultKind::kBarrierDivergence,
          .what = "lanes meet at different __syncthreads()",
          .lane = &lane});
  }
  if (block.at_barrier == block.live) {
    ReleaseBarrier(&lane);
  } else {
    Wait();
  }
}

bool LaneRunsOnThisThread() { return launching && current_lane != nullptr; }

void* DynamicSharedMemory() { return block.shared.dynamic_part().begin; }

LaunchResult RunGrid(const Config& config, void (*body)(void*), void* context) {
  if (launching) {
    return Refuse(FaultKind::kBadConfiguration, "launch from inside a kernel");
  }
  // __shared__ variables are statics: one launch at a time.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const char* why = WhyRefused(config)) {
    return Refuse(FaultKind::kBadConfiguration, why);
  }
  if (!pool.Init(FiberEntry)) {
    return Refuse(FaultKind::kBackendError, "no address space for lane stacks");
  }
  if (!block.shared.Init()) {
    return Refuse(FaultKind::kBackendError, "cannot read /proc/self/exe");
  }
  block.shared.Resize(config.dyn_smem);
  grid_dim = config.grid;
  block_dim = config.block;
  lane_body = body;
  lane_context = context;
  order = config.schedule.lane_order();
  random_state = Mix(config.schedule.seed) | 1;
  block.sync_ops_left = config.sync_limit;
  block.fault = {};
  const unsigned lane_count = config.block.x * config.block.y * config.block.z;
  PlaceLanes(config.block);

  launching = true;
  pool.EnterArena();
  const bool finished = RunBlocks(config.grid, lane_count, config.schedule);
  pool.LeaveArena(!finished);
  launching = false;
  if (finished) return {};
  LaunchResult result{block.fault.kind, DescribeFault()};
  pool.Abandon();
  return result;
}

}  // namespace host
}  // namespace mlafuzz::simt
