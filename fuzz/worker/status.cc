#include "fuzz/worker/status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

std::uint64_t ProcessCpuNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t WorkerStatus::CpuSinceFirstCase() const {
  const std::uint64_t start = cpu_start;
  return start == 0 ? 0 : ProcessCpuNanoseconds() - start;
}

void WorkerStatus::Begin(absl::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), kMaxCaseBytes);
  // Size 0 first: a reader never takes half of an old case for a new one.
  case_size.store(0, std::memory_order_release);
  std::memcpy(case_bytes.data(), bytes.data(), size);
  case_size.store(size, std::memory_order_release);
  if (cpu_start == 0) cpu_start.store(ProcessCpuNanoseconds());
  cpu_nanoseconds.store(CpuSinceFirstCase(), std::memory_order_relaxed);
  busy.store(1, std::memory_order_release);
  Add(heartbeat);
}

void WorkerStatus::End() {
  cpu_nanoseconds.store(CpuSinceFirstCase(), std::memory_order_relaxed);
  busy.store(0, std::memory_order_release);
  Add(heartbeat);
}

void WorkerStatus::NoteNotTaken(std::size_t side, absl::string_view why) {
  if (why_not_taken_size[side] != 0) return;
  const std::size_t size = std::min(why.size(), kMaxWhy);
  std::memcpy(why_not_taken[side].data(), why.data(), size);
  why_not_taken_size[side].store(size, std::memory_order_release);
}

std::string WorkerStatus::WhyNotTaken(std::size_t side) const {
  return std::string(why_not_taken[side].data(),
                     why_not_taken_size[side].load(std::memory_order_acquire));
}

std::string WorkerStatus::CurrentCase() const {
  return std::string(case_bytes.data(),
                     case_size.load(std::memory_order_acquire));
}

absl::StatusOr<std::unique_ptr<StatusMap>> StatusMap::Create(
    const std::string& path) {
  return Map(path, O_RDWR | O_CREAT | O_TRUNC);
}

absl::StatusOr<std::unique_ptr<StatusMap>> StatusMap::Open(
    const std::string& path) {
  return Map(path, O_RDWR);
}

absl::StatusOr<std::unique_ptr<StatusMap>> StatusMap::Map(
    const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  const auto error = [&path](const char* what) {
    return absl::UnavailableError(
        absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
  };
  if (fd < 0) return error("cannot open");
  // Zeroed memory is a valid WorkerStatus: lock-free counters at 0.
  static_assert(WorkerStatus::Counter::is_always_lock_free);
  // With its blocks: of a hole that a full disk cannot fill, the first write is
  // a SIGBUS, which would be taken for the kernel's.
  if ((flags & O_CREAT) != 0) {
    const int full = posix_fallocate(fd, 0, sizeof(WorkerStatus));
    if (full != 0) {
      close(fd);
      return absl::UnavailableError(
          absl::StrCat(path, ": cannot make: ", std::strerror(full),
                       "; set TMPDIR to a folder with more room"));
    }
  }
  void* at = mmap(nullptr, sizeof(WorkerStatus), PROT_READ | PROT_WRITE,
                  MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return error("cannot map");
  return absl::WrapUnique(new StatusMap(static_cast<WorkerStatus*>(at)));
}

StatusMap::~StatusMap() { munmap(status_, sizeof(WorkerStatus)); }

}  // namespace mlafuzz
