#include "fuzz/campaign/scratch_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "mlafuzz.";
constexpr char kOwner[] = ".owner";

// When a process started, in ticks since boot (proc(5), stat, field 22); 0 if
// there is no such process. A pid alone may have been given out again.
std::uint64_t StartTime(pid_t pid) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(in),
                         std::istreambuf_iterator<char>()};
  // The command's name, in parentheses, may hold anything.
  const std::size_t name = text.rfind(')');
  if (name == std::string::npos) return 0;
  std::istringstream fields(text.substr(name + 1));
  std::string field;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 22) return std::strtoull(field.c_str(), nullptr, 10);
  }
  return 0;
}

bool IsDead(pid_t pid, std::uint64_t start) {
  if (pid <= 0) return false;
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const std::uint64_t now = StartTime(pid);
  return now != 0 && start != 0 && now != start;
}

// The descriptor of a new, locked owner file; -1 if the file system cannot. It
// gets its name when it is locked and full: a sweeper sees all or nothing.
int WriteOwner(const std::string& folder) {
  const std::string draft = absl::StrCat(folder, "/.draft");
  const int fd =
      open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const std::string text =
      absl::StrCat(getpid(), " ", StartTime(getpid()), "\n");
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 ||
      write(fd, text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      rename(draft.c_str(), absl::StrCat(folder, "/", kOwner).c_str()) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

bool IsStale(const std::string& folder) {
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      info.st_uid != geteuid()) {
    return false;
  }
  const int fd = open(absl::StrCat(folder, "/", kOwner).c_str(),
                      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const absl::Cleanup close_fd = [fd] { close(fd); };
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return false;
  }
  char text[64] = {};
  if (read(fd, text, sizeof(text) - 1) <= 0) return false;
  char* rest = nullptr;
  const auto pid = static_cast<pid_t>(std::strtol(text, &rest, 10));
  return IsDead(pid, std::strtoull(rest, nullptr, 10));
}

}  // namespace

int SweepScratchFolders(const std::string& base) {
  std::error_code error;
  std::vector<std::string> stale;
  for (fs::directory_iterator it(base, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() == sizeof(kPrefix) - 1 + 6 &&
        absl::StartsWith(name, kPrefix) && IsStale(it->path().string())) {
      stale.push_back(it->path().string());
    }
  }
  for (const std::string& folder : stale) fs::remove_all(folder, error);
  return static_cast<int>(stale.size());
}

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  const char* variable = std::getenv("TMPDIR");
  const std::string base = variable != nullptr && *variable ? variable : "/tmp";
  // Once: what is left behind does not grow while we run.
  static const int swept = SweepScratchFolders(base);
  (void)swept;
  std::string path = absl::StrCat(base, "/", kPrefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "cannot make a folder ", path, "; set TMPDIR to one that exists"));
  }
  return ScratchFolder(path, WriteOwner(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      lock_(std::exchange(other.lock_, -1)) {}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

absl::Status ScratchHasRoom(const std::string& folder) {
  // A hundred times the longest case and more.
  constexpr std::uintmax_t kLeastBytes = std::uintmax_t{16} << 20;
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available >= kLeastBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("only ", space.available >> 10, " KiB are free in ", folder,
                   "; set TMPDIR to a folder with more"));
}

}  // namespace mlafuzz
