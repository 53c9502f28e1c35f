#include "fuzz/worker/case_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kSizeBytes = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<CaseLog>> CaseLog::Open(
    const std::string& path) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return absl::WrapUnique(new CaseLog(fd));
}

CaseLog::~CaseLog() { close(fd_); }

void CaseLog::Append(absl::string_view case_binary) {
  std::string entry;
  for (std::size_t i = 0; i < kSizeBytes; ++i) {
    entry += static_cast<char>(case_binary.size() >> (8 * i));
  }
  absl::StrAppend(&entry, case_binary);
  // What a full disk keeps out is missed by who reads it: DataLoss.
  (void)!write(fd_, entry.data(), entry.size());
}

absl::StatusOr<std::vector<std::string>> ReadCaseLog(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  std::vector<std::string> cases;
  absl::string_view rest = *bytes;
  while (!rest.empty()) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < kSizeBytes && i < rest.size(); ++i) {
      size |= std::size_t{static_cast<std::uint8_t>(rest[i])} << (8 * i);
    }
    if (rest.size() < kSizeBytes || rest.size() - kSizeBytes < size) {
      return absl::DataLossError(absl::StrCat(
          path, ": ends within case ", cases.size(), "; was the disk full?"));
    }
    cases.emplace_back(rest.substr(kSizeBytes, size));
    rest.remove_prefix(kSizeBytes + size);
  }
  return cases;
}

}  // namespace mlafuzz
