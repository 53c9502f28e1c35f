#ifndef MLAFUZZ_KERNELS_DEVICE_GUARDED_SLOTS_H_
#define MLAFUZZ_KERNELS_DEVICE_GUARDED_SLOTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mlafuzz::device {

// Device memory amid address space that is not mapped, so that an access
// outside is an illegal address and not a silent change of something else. How
// it works:
//
//   1. Each slot has kSpan bytes of address space of its own; memory is mapped
//      in their middle. What lies around it stays unmapped.
//   2. Memory comes in granules (2 MiB on all GPUs seen), so a buffer can be
//      flush with one end of its slot only. The rest is slack, for patterns.
//   3. A slot that is too small grows at its end; its contents stay.
//
// On the device that is current. CUDA's virtual-memory functions are looked up
// at run time: nothing links against the driver.
class GuardedSlots {
 public:
  // Wild addresses further away than this may hit another slot.
  static constexpr std::size_t kSpan = std::size_t{64} << 30;

  struct Slot {
    char* data = nullptr;  // mapped: [data, data + size)
    std::size_t size = 0;  // bytes, whole granules
  };

  // Null, and why, if the driver has no virtual-memory functions, or
  // $MLAFUZZ_DEVICE_MEMORY_MIB, the most that all slots may take together, is
  // no number.
  static std::unique_ptr<GuardedSlots> Create(int slots, std::string* why);
  ~GuardedSlots();
  GuardedSlots(const GuardedSlots&) = delete;
  GuardedSlots& operator=(const GuardedSlots&) = delete;

  const Slot& slot(int i) const { return slots_[static_cast<std::size_t>(i)]; }
  // Maps at least `bytes` in a slot. False, and why, if there is no memory.
  bool Grow(int i, std::size_t bytes, std::string* why);
  // Gives back the memory of all slots that have more than one granule.
  void Shrink();

 private:
  struct Driver;

  GuardedSlots() = default;
  void Release(Slot& slot, std::size_t keep);

  std::unique_ptr<Driver> driver_;
  std::size_t granule_ = 0;
  std::size_t most_ = 0;  // bytes; 0: what the device has
  unsigned long long base_ = 0;
  std::vector<Slot> slots_;
  // By slot: a handle and its bytes, in the order of addresses.
  struct Piece {
    unsigned long long handle;
    std::size_t size;
  };
  std::vector<std::vector<Piece>> pieces_;
};

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_GUARDED_SLOTS_H_
