#include "fuzz/nightly/nights.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kLockTries = 20;
constexpr useconds_t kLockWaitMicroseconds = 100'000;

// The last night that has begun, 0 if none has.
std::uint64_t LastBegun(const std::string& state_path) {
  std::uint64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator it(state_path + "/nights", error), end;
       !error && it != end; it.increment(error)) {
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(it->path().filename().string(), &number)) {
      last = std::max(last, number);
    }
  }
  return last;
}

bool IsOver(const std::string& state_path, std::uint64_t number) {
  std::error_code error;
  return fs::exists(NightFolder(state_path, number) + "/report.json", error);
}

}  // namespace

std::string NightFolder(const std::string& state_path, std::uint64_t number) {
  return absl::StrCat(state_path, "/nights/", number);
}

std::uint64_t LastNight(const std::string& state_path) {
  const std::uint64_t last = LastBegun(state_path);
  return last > 0 && !IsOver(state_path, last) ? last - 1 : last;
}

absl::StatusOr<Night> Night::Begin(const std::string& state_path) {
  const std::string nights = state_path + "/nights";
  std::error_code error;
  fs::create_directories(nights, error);
  const int lock = error ? -1
                         : open((nights + "/.lock").c_str(),
                                O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write to ", nights, ": ",
                     error ? error.message() : std::strerror(errno)));
  }
  absl::Cleanup close_lock = [lock] { close(lock); };
  // A child that a killed night had just forked holds it until it begins its
  // own program. A file system without locks has none to offer.
  bool held = true;
  for (int tries = 0; held && tries < kLockTries; ++tries) {
    if (tries > 0) usleep(kLockWaitMicroseconds);
    held = flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  if (held) {
    return absl::UnavailableError(absl::StrCat(
        state_path,
        " has a night that is running; wait for it, or stop it first"));
  }
  const std::uint64_t begun = LastBegun(state_path);
  const bool resumed = begun > 0 && !IsOver(state_path, begun);
  const std::uint64_t number = resumed ? begun : begun + 1;
  std::string folder = NightFolder(state_path, number);
  fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot write to ", folder, ": ", error.message()));
  }
  std::move(close_lock).Cancel();
  return Night(number, resumed, std::move(folder), lock);
}

Night::~Night() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace mlafuzz
