#ifndef MLAFUZZ_KERNELS_GUARDED_MEMORY_H_
#define MLAFUZZ_KERNELS_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mlafuzz {

// Memory for the tensors of one call, with redzones that tell exactly which
// bytes were written outside of them. How it works:
//
//   1. The arena is mapped once, in the middle of 32 GiB of inaccessible
//      address space, so that a wild address is a fault and not a silent
//      change of the harness.
//   2. Buffers are placed from the arena's end downwards, each between two
//      redzones. The last byte of a buffer is flush with the redzone behind
//      it, whatever its alignment.
//   3. Redzones hold a pattern that is a function of address and seed. While
//      armed they are also poisoned for ASan, so that reads are seen too. (Of
//      the eight bytes around a buffer's odd start ASan cannot poison those in
//      front; there the pattern is all.)
//   4. Check() compares the pattern and puts it back.
//   5. Below the lowest redzone, at the next 64 KiB boundary, memory is
//      inaccessible again.
//
// Memory is reused from case to case, and a redzone that lies where it lay
// before is not written again: a small case costs about a microsecond.
class GuardedArena {
 public:
  // Most bytes of all buffers and redzones together.
  static constexpr std::size_t kCapacity = std::size_t{2} << 30;
  // Residues of addresses are given modulo this.
  static constexpr std::size_t kAlignment = 256;

  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t size = 0;
    // Redzones: [before, data) and [data + size, after).
    const std::uint8_t* before = nullptr;
    const std::uint8_t* after = nullptr;
  };

  // Changed bytes on one side of a buffer, relative to its first byte.
  struct Damage {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;
  };

  // kShared: the bytes are those of a memory file, so that another process can
  // map them. kSide bytes on each side of the arena are never accessible.
  enum class Backing { kPrivate, kShared };
  static constexpr std::size_t kSide = std::size_t{16} << 30;

  explicit GuardedArena(std::uint64_t seed,
                        Backing backing = Backing::kPrivate);
  ~GuardedArena();
  GuardedArena(const GuardedArena&) = delete;
  GuardedArena& operator=(const GuardedArena&) = delete;

  // Places `size` bytes (0 is fine) at an address that is `residue` modulo
  // kAlignment, with at least `redzone` bytes on each side. The contents are
  // what was there before. Not while armed. ResourceExhausted if the arena is
  // full or cannot be mapped.
  absl::StatusOr<std::uint8_t*> Add(std::size_t size, std::size_t residue,
                                    std::size_t redzone);
  // Drops the buffers from `count` on. Not while armed.
  void Truncate(std::size_t count);

  const std::vector<Buffer>& buffers() const { return buffers_; }

  // Maps the arena, if Add() has not done it yet.
  absl::Status Map();
  // kShared, mapped: the file of kCapacity bytes; this object's.
  int fd() const { return fd_; }
  // Mapped: where byte 0 of the arena, and of the file, lies.
  std::uint8_t* base() const { return end_ - kCapacity; }
  // Makes what is below the lowest redzone inaccessible; Arm() does, too.
  absl::Status Trim();
  // Bytes of the arena below this offset are inaccessible. After Trim().
  std::size_t low() const { return static_cast<std::size_t>(low_ - base()); }

  // Between these two, redzones are poisoned and the memory belongs to the
  // kernel. Arm fails only if the kernel's page tables do.
  absl::Status Arm();
  void Disarm();

  // Appends what changed in the redzones of a buffer, at most one entry a
  // side, and repairs it. Not while armed.
  void Check(std::size_t buffer, std::vector<Damage>* damage);

 private:
  // Where the next buffer's redzone ends.
  std::uint8_t* Cursor() const;
  void Fill(const std::uint8_t* begin, const std::uint8_t* end);
  void CheckRange(const std::uint8_t* begin, const std::uint8_t* end,
                  const std::uint8_t* origin, std::vector<Damage>* damage);

  // The pattern repeats after this many bytes.
  static constexpr std::size_t kPeriod = 4096;

  std::vector<std::uint8_t> pattern_;  // two periods
  Backing backing_;
  int fd_ = -1;
  std::uint8_t* map_ = nullptr;
  std::uint8_t* end_ = nullptr;  // of the arena
  std::uint8_t* low_ = nullptr;  // [low_, end_) is accessible
  bool armed_ = false;
  std::vector<Buffer> buffers_;
  // Buffers whose redzones hold the pattern, the first filled_.size() places.
  std::vector<Buffer> filled_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_GUARDED_MEMORY_H_
