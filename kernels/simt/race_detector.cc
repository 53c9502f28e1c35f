// Finds missing barriers between accesses to shared memory.
//
// Kernels are compiled with -fsanitize-coverage=func,trace-loads,trace-stores,
// so
// that every load and store calls one of the functions below. Each byte of
// shared memory has a shadow cell: its last write and its last reads in the
// block. Two accesses, one a write, by different lanes are ordered if a block
// barrier lies between them (the epoch differs), or if the lanes are of one
// warp and a __syncwarp does (the earlier clock is smaller). Shuffles and votes
// order nothing, as CUDA has it.
//
// It sees a race whichever lane happens to come first, so one launch with any
// schedule will do. What it misses: vectors of 32 bytes and memcpy are not
// traced (hence the other flags of RACE_DETECTOR_COPTS); a partial mask is
// taken to order the warp's clock as far as it carried it; global memory.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/simt/block_state.h"

extern "C" const char __ehdr_start __attribute__((weak, visibility("hidden")));

namespace mlafuzz::simt {
inline namespace host {
namespace {

enum class Access { kRead, kWrite, kAtomic };

struct Event {
  std::uint32_t epoch;
  std::uint32_t clock;
  std::uint16_t lane;
};

// Accesses of one kind, by any number of lanes.
struct Accesses {
  Event last;
  // About this epoch:
  bool several_lanes;  // with the clock of the last
  bool several_warps;
};

// What is known about one byte. Atomics are kept apart from writes: a plain
// write must not be forgotten because its own lane uses the byte atomically.
struct Cell {
  Event write;
  Accesses reads;
  Accesses atomics;
};

Cell* shadow = nullptr;

unsigned NumberOf(const Lane& lane) {
  return static_cast<unsigned>(&lane - block.lanes);
}

bool Ordered(const Event& event, const Lane& lane) {
  const unsigned me = NumberOf(lane);
  return event.epoch != block.epoch || event.lane == me ||
         (event.lane / 32 == lane.warp && event.clock < lane.clock);
}

bool Ordered(const Accesses& accesses, const Lane& lane) {
  if (accesses.last.epoch != block.epoch) return true;
  if (accesses.several_warps) return false;
  if (accesses.several_lanes) {
    return accesses.last.lane / 32 == lane.warp &&
           accesses.last.clock < lane.clock;
  }
  return Ordered(accesses.last, lane);
}

struct Conflict {
  const char* what = nullptr;  // null if there is none
  const Event* with = nullptr;
};

Conflict Check(const Cell& cell, const Lane& lane, Access access) {
  // Indexed by Access.
  constexpr const char* kAfterWrite[] = {
      "read after write", "write after write", "atomic after write"};
  constexpr const char* kAfterRead[] = {"", "write after read",
                                        "atomic after read"};
  constexpr const char* kAfterAtomic[] = {"read after atomic",
                                          "write after atomic", ""};
  const int index = static_cast<int>(access);
  if (!Ordered(cell.write, lane)) return {kAfterWrite[index], &cell.write};
  if (access != Access::kRead && !Ordered(cell.reads, lane)) {
    return {kAfterRead[index], &cell.reads.last};
  }
  if (access != Access::kAtomic && !Ordered(cell.atomics, lane)) {
    return {kAfterAtomic[index], &cell.atomics.last};
  }
  return {};
}

void Add(Accesses& accesses, const Event& event) {
  const Event& last = accesses.last;
  const bool same_epoch = last.epoch == event.epoch;
  accesses.several_warps = same_epoch && (accesses.several_warps ||
                                          last.lane / 32 != event.lane / 32);
  accesses.several_lanes = same_epoch && last.clock == event.clock &&
                           (accesses.several_lanes || last.lane != event.lane);
  accesses.last = event;
}

void Record(Cell& cell, const Lane& lane, Access access) {
  const Event event = {block.epoch, lane.clock,
                       static_cast<std::uint16_t>(NumberOf(lane))};
  switch (access) {
    case Access::kRead:
      return Add(cell.reads, event);
    case Access::kAtomic:
      return Add(cell.atomics, event);
    case Access::kWrite:
      cell.write = event;
  }
}

void Trace(const volatile void* address, std::size_t size, Access access,
           const void* code) {
  if (current_lane == nullptr) return;
  const Lane& lane = *CurrentLane();
  const MemoryRange& statics = block.shared.static_part();
  const MemoryRange* range = &statics;
  const void* plain = const_cast<const void*>(address);
  std::size_t offset = range->OffsetOf(plain);
  if (offset == MemoryRange::npos) {
    range = &block.shared.dynamic_part();
    offset = range->OffsetOf(plain);
    if (offset == MemoryRange::npos) return;
  }
  if (shadow == nullptr) {
    void* cells =
        mmap(nullptr, (statics.size + kMaxDynamicShared) * sizeof(Cell),
             PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) {
      Fail({.kind = FaultKind::kBackendError,
            .what = "no memory for the race detector",
            .lane = &lane});
    }
    shadow = static_cast<Cell*>(cells);
  }
  Cell* cells = shadow + (range == &statics ? 0 : statics.size);
  const std::size_t end = std::min(offset + size, range->size);
  for (std::size_t i = offset; i < end; ++i) {
    Cell& cell = cells[i];
    const Conflict conflict = Check(cell, lane, access);
    if (conflict.what != nullptr) {
      Fail({.kind = FaultKind::kSharedRace,
            .what = conflict.what,
            .lane = &lane,
            .other = &block.lanes[conflict.with->lane],
            .region = range == &statics ? "static" : "dynamic",
            .offset = i,
            .code_offset = reinterpret_cast<std::uintptr_t>(code) -
                           reinterpret_cast<std::uintptr_t>(&__ehdr_start)});
    }
    Record(cell, lane, access);
  }
}

}  // namespace

void TraceAtomic(const volatile void* address, std::size_t size) {
  Trace(address, size, Access::kAtomic, __builtin_return_address(0));
}

}  // namespace host
}  // namespace mlafuzz::simt

#define SIMT_TRACE(size)                                                \
  extern "C" void __sanitizer_cov_load##size(void* address) {           \
    ::mlafuzz::simt::host::Trace(address, size,                         \
                                 ::mlafuzz::simt::host::Access::kRead,  \
                                 __builtin_return_address(0));          \
  }                                                                     \
  extern "C" void __sanitizer_cov_store##size(void* address) {          \
    ::mlafuzz::simt::host::Trace(address, size,                         \
                                 ::mlafuzz::simt::host::Access::kWrite, \
                                 __builtin_return_address(0));          \
  }
SIMT_TRACE(1)
SIMT_TRACE(2)
SIMT_TRACE(4)
SIMT_TRACE(8)
SIMT_TRACE(16)
