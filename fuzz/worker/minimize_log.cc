#include "fuzz/worker/minimize_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "xxhash.h"

namespace mlafuzz {
namespace {

std::string HeaderOf(std::uint64_t of) {
  return absl::StrFormat("mlafuzz minimize 1 %016x", of);
}

struct Line {
  std::uint64_t hash = 0;
  bool fails = false;
  std::uint64_t bytes = 0;
};

bool Parse(absl::string_view text, Line* line) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 3 || words[0].size() != 16 ||
      (words[1] != "0" && words[1] != "1") ||
      !absl::SimpleHexAtoi(words[0], &line->hash) ||
      !absl::SimpleAtoi(words[2], &line->bytes)) {
    return false;
  }
  line->fails = words[1] == "1";
  return true;
}

absl::Status Failed(const char* what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot be ", what, ": ", std::strerror(errno)));
}

absl::Status WriteAll(int fd, absl::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("written", path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MinimizeLog>> MinimizeLog::Open(
    const std::string& path, std::uint64_t of) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return Failed("opened", path);
  std::unique_ptr<MinimizeLog> log(new MinimizeLog(fd, path));
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  const std::string header = HeaderOf(of);
  // Whole lines alone count.
  const std::size_t whole = text->rfind('\n') + 1;
  if (whole == 0) {
    // Of a file that holds anything but a part of this header nothing is known.
    if (text->compare(0, std::string::npos, header, 0, text->size()) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(path,
                       ": is no log of a minimisation; name another "
                       "file, or remove it"));
    }
    if (ftruncate(fd, 0) != 0) return Failed("cut", path);
    if (absl::Status s = WriteAll(fd, header + "\n", path); !s.ok()) return s;
    return log;
  }
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(*text).substr(0, whole - 1), '\n');
  if (lines[0] != header) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": is of another case, cause or target; name another file, or "
        "remove it"));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Line line;
    if (!Parse(lines[i], &line)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": line ", i + 1, " is no try; remove the file to begin anew"));
    }
    log->answers_[line.hash] = line.fails;
  }
  if (whole != text->size() && ftruncate(fd, static_cast<off_t>(whole)) != 0) {
    return Failed("cut", path);
  }
  return log;
}

MinimizeLog::~MinimizeLog() { close(fd_); }

std::optional<bool> MinimizeLog::Find(std::uint64_t hash) const {
  const auto it = answers_.find(hash);
  if (it == answers_.end()) return std::nullopt;
  return it->second;
}

absl::Status MinimizeLog::Append(std::uint64_t hash, bool fails,
                                 std::uint64_t bytes) {
  answers_[hash] = fails;
  return WriteAll(
      fd_, absl::StrFormat("%016x %d %d\n", hash, fails ? 1 : 0, bytes), path_);
}

std::uint64_t NumberOf(const WorkRequest& request) {
  WorkRequest what;
  *what.mutable_targets() = request.targets();
  // How they are reached, in words: not what they are.
  what.mutable_targets()->clear_tensors();
  *what.mutable_other() = request.other();
  what.set_diff(request.diff());
  what.set_cause(request.cause());
  what.set_repeat(request.repeat());
  what.add_cases(request.cases(0));
  const std::string bytes = what.SerializeAsString();
  return XXH3_64bits(bytes.data(), bytes.size());
}

MinimizeState ReadMinimizeState(const std::string& path) {
  MinimizeState state;
  const auto text = ReadFile(path);
  if (!text.ok()) return state;
  for (const absl::string_view one : absl::StrSplit(*text, '\n')) {
    Line line;
    if (!Parse(one, &line)) continue;
    ++state.tries;
    state.since_success = line.fails ? 0 : state.since_success + 1;
    if (line.bytes != 0) state.bytes = line.bytes;
  }
  return state;
}

}  // namespace mlafuzz
