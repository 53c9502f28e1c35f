#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

// Far above any case, report or work file; keeps a wrong path from filling
// memory.
constexpr off_t kMaxFileBytes = off_t{1} << 30;

absl::Status Errno(absl::string_view doing, const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot ", doing, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(text);
  }
  return absl::DataLossError(text);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // Not to wait for a writer if it is a pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Errno("open", path);
  absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0) return Errno("look at", path);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no regular file"));
  }
  if (info.st_size > kMaxFileBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": is larger than ", kMaxFileBytes >> 20, " MiB"));
  }
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("read", path);
    if (n == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(n));
  }
}

namespace {

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

// A device, a pipe: what a rename would put a file in the place of.
bool IsNoFile(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) &&
         !S_ISDIR(found.st_mode);
}

absl::Status WriteInPlace(const std::string& path, absl::string_view bytes) {
  // Not to wait for a reader if it is a pipe: without one it is an error.
  const int fd =
      open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return Errno("write", path);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  absl::Status status = WriteAll(fd, bytes, path);
  if (close(fd) != 0 && status.ok()) status = Errno("write", path);
  return status;
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes) {
  if (IsNoFile(path)) return WriteInPlace(path, bytes);
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return Errno("write", path);
  absl::Cleanup forget = [&] { unlink(temporary.c_str()); };
  // mkostemp makes the file private; take what the umask says instead.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  absl::Status status = WriteAll(fd, bytes, path);
  if (status.ok() && fsync(fd) != 0) status = Errno("write", path);
  if (close(fd) != 0 && status.ok()) status = Errno("write", path);
  if (!status.ok()) return status;
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return Errno("rename to", path);
  }
  std::move(forget).Cancel();
  return absl::OkStatus();
}

}  // namespace mlafuzz
