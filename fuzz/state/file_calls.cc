#include "fuzz/state/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

absl::Status Failed(absl::string_view doing, const std::string& path,
                    int error) {
  const std::string text =
      absl::StrCat(path, ": cannot ", doing, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(absl::StrCat(
          text,
          "; make room and run it again, nothing that was there is "
          "lost"));
    case EROFS:
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(
          text, "; a state must be writable: check the mount and its owner"));
    case EXDEV:
      return absl::DataLossError(absl::StrCat(
          text,
          "; the folder is spread over two file systems: put the state "
          "where it is on one"));
    default:
      return absl::DataLossError(absl::StrCat(
          text,
          "; check the disk and run it again, nothing that was there is "
          "lost"));
  }
}

// Unlike the name of any other process on any machine that shares the folder.
std::string TemporaryName(const std::string& name) {
  static std::atomic<std::uint64_t> count = 0;
  char host[256] = "host";
  (void)gethostname(host, sizeof(host) - 1);
  return absl::StrCat(".", name, ".", host, ".", getpid(), ".", ++count);
}

}  // namespace

int FileCalls::Open(const char* path, int flags, mode_t mode) {
  return open(path, flags, mode);
}
ssize_t FileCalls::Write(int fd, const void* data, std::size_t size) {
  return write(fd, data, size);
}
int FileCalls::Sync(int fd) { return fsync(fd); }
int FileCalls::Close(int fd) { return close(fd); }
int FileCalls::Rename(const char* from, const char* to) {
  return rename(from, to);
}
int FileCalls::MakeFolder(const char* path, mode_t mode) {
  return mkdir(path, mode);
}

FileCalls& RealFileCalls() {
  static auto* calls = new FileCalls;
  return *calls;
}

absl::Status WriteWhole(FileCalls& calls, const std::string& folder,
                        const std::string& name, absl::string_view bytes) {
  const std::string path = absl::StrCat(folder, "/", name);
  const std::string temporary = absl::StrCat(folder, "/", TemporaryName(name));
  const int fd = calls.Open(temporary.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return Failed("write", path, errno);
  absl::Cleanup forget = [&] { unlink(temporary.c_str()); };
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = calls.Write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error = n < 0 ? errno : EIO;
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  if (error == 0 && calls.Sync(fd) != 0) error = errno;
  if (calls.Close(fd) != 0 && error == 0) error = errno;
  if (error != 0) return Failed("write", path, error);
  if (calls.Rename(temporary.c_str(), path.c_str()) != 0) {
    return Failed("rename to", path, errno);
  }
  std::move(forget).Cancel();
  return absl::OkStatus();
}

absl::Status MakeFolder(FileCalls& calls, const std::string& path) {
  if (calls.MakeFolder(path.c_str(), 0777) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat info;
  if (error == EEXIST && stat(path.c_str(), &info) == 0 &&
      S_ISDIR(info.st_mode)) {
    return absl::OkStatus();
  }
  return Failed("make the folder", path, error);
}

}  // namespace mlafuzz
