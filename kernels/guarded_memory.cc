#include "kernels/guarded_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "corpus/value_generator.h"

extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void*,
                                                       std::size_t);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*,
                                                         std::size_t);
}

namespace mlafuzz {
namespace {

// Granularity of the accessible part's lower end: moving it is a system call,
// which cases of about the same size should not pay.
constexpr std::size_t kStep = 64 << 10;
// More than this is given back to the system when it is no longer needed.
constexpr std::size_t kKeep = std::size_t{64} << 20;

void Poison(const std::uint8_t* begin, const std::uint8_t* end) {
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(begin, static_cast<std::size_t>(end - begin));
  }
}

void Unpoison(const std::uint8_t* begin, const std::uint8_t* end) {
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(begin, static_cast<std::size_t>(end - begin));
  }
}

std::size_t Address(const std::uint8_t* p) {
  return reinterpret_cast<std::size_t>(p);
}

}  // namespace

GuardedArena::GuardedArena(std::uint64_t seed, Backing backing)
    : backing_(backing) {
  const ValueGenerator generator(seed);
  pattern_.resize(2 * kPeriod);
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    pattern_[i] = static_cast<std::uint8_t>(generator.Word(i % kPeriod));
  }
}

GuardedArena::~GuardedArena() {
  if (map_ == nullptr) return;
  Unpoison(low_, end_);
  munmap(map_, 2 * kSide + kCapacity);
  if (fd_ >= 0) close(fd_);
}

absl::Status GuardedArena::Map() {
  if (map_ != nullptr) return absl::OkStatus();
  void* map = mmap(nullptr, 2 * kSide + kCapacity, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot reserve ", (2 * kSide + kCapacity) >> 30,
        " GiB of address space for guarded memory; raise `ulimit -v`"));
  }
  if (backing_ == Backing::kShared) {
    fd_ = memfd_create("mlafuzz-arena", MFD_CLOEXEC);
    if (fd_ < 0 || ftruncate(fd_, kCapacity) != 0 ||
        mmap(static_cast<char*>(map) + kSide, kCapacity, PROT_NONE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_, 0) == MAP_FAILED) {
      munmap(map, 2 * kSide + kCapacity);
      if (fd_ >= 0) close(fd_);
      fd_ = -1;
      return absl::ResourceExhaustedError(
          "cannot make shared memory for the tensors of foreign targets");
    }
  }
  map_ = static_cast<std::uint8_t*>(map);
  end_ = map_ + kSide + kCapacity;
  low_ = end_;
  return absl::OkStatus();
}

std::uint8_t* GuardedArena::Cursor() const {
  return buffers_.empty() ? end_
                          : const_cast<std::uint8_t*>(buffers_.back().before);
}

absl::StatusOr<std::uint8_t*> GuardedArena::Add(std::size_t size,
                                                std::size_t residue,
                                                std::size_t redzone) {
  assert(!armed_);
  if (absl::Status status = Map(); !status.ok()) return status;
  std::uint8_t* const after = Cursor();
  const std::size_t left = static_cast<std::size_t>(after - (end_ - kCapacity));
  if (size > kCapacity || redzone > kCapacity ||
      size + 2 * redzone + kAlignment + kStep > left) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "guarded memory is full: ", size, " bytes wanted, ", left, " left"));
  }
  Buffer buffer;
  buffer.size = size;
  buffer.after = after;
  buffer.data = after - redzone - size;
  buffer.data -= (Address(buffer.data) - residue) % kAlignment;
  buffer.before = buffer.data - redzone;

  // Rounding down to the step is what Arm() wants as well.
  std::uint8_t* const low =
      const_cast<std::uint8_t*>(buffer.before) - Address(buffer.before) % kStep;
  if (low < low_) {
    if (mprotect(low, static_cast<std::size_t>(low_ - low),
                 PROT_READ | PROT_WRITE) != 0) {
      return absl::ResourceExhaustedError("mprotect of guarded memory failed");
    }
    low_ = low;
  }

  const std::size_t place = buffers_.size();
  const bool filled = place < filled_.size() &&
                      filled_[place].data == buffer.data &&
                      filled_[place].size == buffer.size &&
                      filled_[place].before == buffer.before &&
                      filled_[place].after == buffer.after;
  if (!filled) {
    // From here on everything lies elsewhere than it lay before.
    filled_.resize(std::min(place, filled_.size()));
    Fill(buffer.before, buffer.data);
    Fill(buffer.data + size, buffer.after);
    if (filled_.size() == place) filled_.push_back(buffer);
  }
  buffers_.push_back(buffer);
  return buffer.data;
}

void GuardedArena::Truncate(std::size_t count) {
  assert(!armed_);
  if (count < buffers_.size()) buffers_.resize(count);
}

absl::Status GuardedArena::Trim() {
  if (map_ == nullptr) return absl::OkStatus();
  std::uint8_t* const cursor = Cursor();
  std::uint8_t* const low = cursor - Address(cursor) % kStep;
  if (low > low_) {
    const std::size_t surplus = static_cast<std::size_t>(low - low_);
    if (mprotect(low_, surplus, PROT_NONE) != 0) {
      return absl::ResourceExhaustedError("mprotect of guarded memory failed");
    }
    if (surplus > kKeep) {
      if (fd_ >= 0) {
        fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  low_ - base(), static_cast<off_t>(surplus));
      } else {
        madvise(low_, surplus, MADV_DONTNEED);
      }
      filled_.resize(std::min(filled_.size(), buffers_.size()));
    }
    low_ = low;
  }
  return absl::OkStatus();
}

absl::Status GuardedArena::Arm() {
  if (map_ == nullptr) return absl::OkStatus();
  if (absl::Status status = Trim(); !status.ok()) return status;
  const std::uint8_t* const cursor = Cursor();
  armed_ = true;
  for (const Buffer& buffer : buffers_) {
    Poison(buffer.before, buffer.data);
    Poison(buffer.data + buffer.size, buffer.after);
  }
  Poison(low_, cursor);
  return absl::OkStatus();
}

void GuardedArena::Disarm() {
  armed_ = false;
  if (map_ != nullptr) Unpoison(low_, end_);
}

void GuardedArena::Check(std::size_t buffer, std::vector<Damage>* damage) {
  assert(!armed_);
  const Buffer& b = buffers_[buffer];
  CheckRange(b.before, b.data, b.data, damage);
  CheckRange(b.data + b.size, b.after, b.data, damage);
}

void GuardedArena::Fill(const std::uint8_t* begin, const std::uint8_t* end) {
  for (std::uint8_t* p = const_cast<std::uint8_t*>(begin); p < end;) {
    const std::size_t n = std::min(kPeriod, static_cast<std::size_t>(end - p));
    std::memcpy(p, &pattern_[Address(p) % kPeriod], n);
    p += n;
  }
}

void GuardedArena::CheckRange(const std::uint8_t* begin,
                              const std::uint8_t* end,
                              const std::uint8_t* origin,
                              std::vector<Damage>* damage) {
  Damage found;
  for (const std::uint8_t* p = begin; p < end;) {
    const std::size_t n = std::min(kPeriod, static_cast<std::size_t>(end - p));
    const std::uint8_t* const want = &pattern_[Address(p) % kPeriod];
    if (std::memcmp(p, want, n) != 0) {
      for (std::size_t i = 0; i < n; ++i) {
        if (p[i] == want[i]) continue;
        const std::int64_t at = p + i - origin;
        if (found.count++ == 0) found.first = at;
        found.last = at;
      }
    }
    p += n;
  }
  if (found.count == 0) return;
  Fill(origin + found.first, origin + found.last + 1);
  damage->push_back(found);
}

}  // namespace mlafuzz
