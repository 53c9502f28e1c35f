#include "fuzz/state/testing/faulty_calls.h"

#include <signal.h>

#include <cerrno>

namespace mlafuzz {

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNoSpace:
      return "ENOSPC";
    case Fault::kInputOutput:
      return "EIO";
    case Fault::kReadOnly:
      return "EROFS";
    case Fault::kCrossDevice:
      return "EXDEV";
    case Fault::kShortWrite:
      return "a short write";
    case Fault::kKilled:
      return "SIGKILL before";
    case Fault::kKilledAfter:
      return "SIGKILL after";
  }
  return "";
}

bool FaultyCalls::Strikes(bool is_rename) {
  if (calls_++ != at_) return false;
  switch (fault_) {
    case Fault::kNoSpace:
      errno = ENOSPC;
      break;
    case Fault::kInputOutput:
      errno = EIO;
      break;
    case Fault::kReadOnly:
      errno = EROFS;
      break;
    case Fault::kCrossDevice:
      if (!is_rename) return false;
      errno = EXDEV;
      break;
    case Fault::kShortWrite:
      return false;
    case Fault::kKilled:
      raise(SIGKILL);
      break;
    case Fault::kKilledAfter:
      dies_ = true;
      return false;
  }
  struck_ = true;
  return true;
}

template <typename Result>
Result FaultyCalls::Ended(Result result) {
  if (dies_) raise(SIGKILL);
  return result;
}

int FaultyCalls::Open(const char* path, int flags, mode_t mode) {
  return Strikes() ? -1 : Ended(FileCalls::Open(path, flags, mode));
}

ssize_t FaultyCalls::Write(int fd, const void* data, std::size_t size) {
  if (full_) {
    errno = ENOSPC;
    return -1;
  }
  if (fault_ == Fault::kShortWrite && calls_ == at_ && size > 1) {
    ++calls_;
    struck_ = true;
    full_ = true;
    return FileCalls::Write(fd, data, size / 2);
  }
  return Strikes() ? -1 : Ended(FileCalls::Write(fd, data, size));
}

int FaultyCalls::Sync(int fd) {
  return Strikes() ? -1 : Ended(FileCalls::Sync(fd));
}

int FaultyCalls::Close(int fd) {
  // The descriptor is gone all the same.
  const int result = FileCalls::Close(fd);
  return Strikes() ? -1 : Ended(result);
}

int FaultyCalls::Rename(const char* from, const char* to) {
  return Strikes(/*is_rename=*/true) ? -1 : Ended(FileCalls::Rename(from, to));
}

int FaultyCalls::MakeFolder(const char* path, mode_t mode) {
  return Strikes() ? -1 : Ended(FileCalls::MakeFolder(path, mode));
}

}  // namespace mlafuzz
