#include "fuzz/campaign/out_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResults[] = {"findings",   "corpus",      "report.json",
                                    "report.txt", "report.html", "report.sarif",
                                    "junit.xml",  "summary.md"};

absl::Status Cannot(const std::string& what, const std::string& why) {
  return absl::UnavailableError(absl::StrCat(
      "cannot ", what, ": ", why, "; choose another one with --out=DIR"));
}

std::string Text(int fd) {
  char text[4096];
  const ssize_t n = pread(fd, text, sizeof(text), 0);
  std::string line(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  return line.substr(0, line.find('\n'));
}

// A campaign from before there were lock files.
bool HasReport(const std::string& path) {
  const auto report = ReadFile(path + "/report.json");
  return report.ok() && absl::StrContains(*report, "\"schema_version\"");
}

std::vector<const char*> ResultsIn(const std::string& path) {
  std::vector<const char*> found;
  std::error_code ignored;
  for (const char* name : kResults) {
    if (fs::exists(
            fs::symlink_status(absl::StrCat(path, "/", name), ignored))) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace

absl::StatusOr<OutFolder> OutFolder::Claim(const std::string& path,
                                           const std::string& shown,
                                           const std::string& command) {
  const std::string name = shown.empty() ? path : shown;
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    return Cannot("make the output folder " + name,
                  error ? error.message() : "something else is there");
  }
  const int lock = open((path + "/.mlafuzz").c_str(),
                        O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (lock < 0) {
    return Cannot("write to the output folder " + name, std::strerror(errno));
  }
  absl::Cleanup close_lock = [lock] { close(lock); };
  const std::string holder = Text(lock);
  // A file system without locks has none to offer; go on as before there were.
  if (flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::UnavailableError(absl::StrCat(
        "the output folder ", name, " belongs to a running campaign (process ",
        holder, "); choose another one with --out=DIR, or stop that one"));
  }
  const std::vector<const char*> old = ResultsIn(path);
  if (!old.empty() && holder.empty() && !HasReport(path)) {
    unlink((path + "/.mlafuzz").c_str());
    return absl::FailedPreconditionError(absl::StrCat(
        "the output folder ", name, " has a ", old[0],
        " that no campaign wrote, and this one would take its place; choose "
        "another one with --out=DIR"));
  }
  // Before anything is moved: on a full disk all stays. Cut last, so that it is
  // never empty.
  const std::string text = absl::StrCat(getpid(), ": ", command, "\n");
  const auto size = static_cast<ssize_t>(text.size());
  if (pwrite(lock, text.data(), text.size(), 0) != size ||
      ftruncate(lock, size) != 0) {
    return Cannot("write to the output folder " + name, std::strerror(errno));
  }
  const std::string previous = path + "/previous";
  if (!old.empty()) {
    fs::create_directories(previous, error);
    for (const char* result : kResults) {
      if (error) break;
      fs::remove_all(absl::StrCat(previous, "/", result), error);
    }
    for (const char* result : old) {
      if (error) break;
      fs::rename(absl::StrCat(path, "/", result),
                 absl::StrCat(previous, "/", result), error);
    }
    if (error) {
      return Cannot(
          absl::StrCat("move the last results to ", name, "/previous"),
          error.message());
    }
  }
  std::move(close_lock).Cancel();
  return OutFolder(lock, !old.empty());
}

OutFolder::~OutFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace mlafuzz
