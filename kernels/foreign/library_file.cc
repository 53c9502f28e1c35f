#include "kernels/foreign/library_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

// FNV-1a over words, the last one filled with zeros: libraries of kernels have
// hundreds of MiB. Nobody here means to fool it.
class Hash {
 public:
  void Add(const char* bytes, std::size_t size) {
    for (std::size_t at = 0; at < size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min<std::size_t>(8, size - at));
      value_ = (value_ ^ word) * 0x100000001b3u;
      value_ ^= value_ >> 32;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

// 0 if it cannot be read.
std::uint64_t HashOfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  Hash hash;
  std::vector<char> buffer(1 << 20);
  ssize_t n;
  while ((n = read(fd, buffer.data(), buffer.size())) > 0) {
    hash.Add(buffer.data(), static_cast<std::size_t>(n));
  }
  close(fd);
  return n < 0 ? 0 : hash.value();
}

void Fill(const struct stat& status, LibraryFile* file) {
  file->size = static_cast<std::uint64_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  file->modified = status.st_mtim.tv_sec * std::int64_t{1'000'000'000} +
                   status.st_mtim.tv_nsec;
}

}  // namespace

absl::StatusOr<LibraryFile> LookAtLibrary(const std::string& path) {
  LibraryFile file;
  file.path = path;
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    return absl::InvalidArgumentError(
        errno == ENOENT || errno == ENOTDIR
            ? "no such file"
            : absl::StrCat("cannot be looked at: ", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(
        "a folder; name the shared library in it, lib:PATH.so");
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        "no regular file; name a shared library, lib:PATH.so");
  }
  if (access(path.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be read: ", std::strerror(errno)));
  }
  Fill(status, &file);
  file.hash = HashOfFile(path);
  return file;
}

std::string AttachedAs(const LibraryFile& file) {
  return absl::StrCat(absl::EndsWith(file.path, ".py") ? "python:" : "lib:",
                      file.path);
}

std::string ChangeOf(const LibraryFile& loaded) {
  struct stat status = {};
  if (stat(loaded.path.c_str(), &status) != 0) {
    return absl::StrCat(AttachedAs(loaded),
                        ": the file is gone since it was loaded");
  }
  LibraryFile now;
  Fill(status, &now);
  if (now.size == loaded.size && now.device == loaded.device &&
      now.inode == loaded.inode && now.modified == loaded.modified) {
    return "";
  }
  if (now.size == loaded.size && HashOfFile(loaded.path) == loaded.hash) {
    return "";  // touched, or copied over itself
  }
  return absl::StrCat(
      AttachedAs(loaded), ": the file is another since it was loaded (",
      now.size == loaded.size
          ? absl::StrCat(now.size, " bytes as before, but others")
          : absl::StrCat(loaded.size, " bytes then, ", now.size, " now"),
      "), and what is found before and after is of different kernels");
}

}  // namespace mlafuzz
