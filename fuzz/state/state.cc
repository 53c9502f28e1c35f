#include "fuzz/state/state.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "corpus/codec.h"
#include "xxhash.h"

namespace mlafuzz {
namespace {

constexpr char kMarker[] = "mlafuzz-state";
constexpr char kMarkerPrefix[] = "mlafuzz state ";
constexpr char kMarkerText[] = "mlafuzz state 1\n";
constexpr char kShards[] = "shards";
constexpr std::time_t kDay = 24 * 60 * 60;

bool IsId(absl::string_view name) {
  return name.size() == 32 && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

// Names in a folder but those that begin with a dot, sorted; none if it is not
// there.
absl::StatusOr<std::vector<std::string>> Names(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr && errno == ENOENT) return names;
  if (dir != nullptr) {
    errno = 0;
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
  }
  const int error = errno;
  if (dir != nullptr) closedir(dir);
  if (error != 0) {
    return absl::DataLossError(
        absl::StrCat(folder, ": cannot be listed: ", std::strerror(error)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// As WriteWhole makes them: ".NAME.HOST.PID.NUMBER".
bool IsTemporary(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, ".")) return false;
  const bool ours = (name.size() > 32 && IsId(name.substr(0, 32))) ||
                    absl::StartsWith(name, kMarker);
  for (int i = 0; i < 2; ++i) {
    const std::size_t dot = name.rfind('.');
    if (!ours || dot == absl::string_view::npos || dot + 1 == name.size() ||
        !std::all_of(name.begin() + dot + 1, name.end(), absl::ascii_isdigit)) {
      return false;
    }
    name = name.substr(0, dot);
  }
  return true;
}

// What the file system takes for now.
absl::StatusOr<std::time_t> NowIn(FileCalls& calls, const std::string& folder) {
  constexpr char kProbe[] = "mlafuzz-state.now";
  if (absl::Status s = WriteWhole(calls, folder, kProbe, ""); !s.ok()) return s;
  const std::string path = absl::StrCat(folder, "/", kProbe);
  struct stat info = {};
  const bool seen = stat(path.c_str(), &info) == 0;
  unlink(path.c_str());
  if (!seen) return absl::UnavailableError(absl::StrCat(path, ": is gone"));
  return info.st_mtime;
}

bool IsOurs(const std::string& name) {
  if (name == kMarker || name == kShards) return true;
  return std::any_of(kAllKinds.begin(), kAllKinds.end(),
                     [&](Kind kind) { return name == KindName(kind); });
}

// A folder that a process makes a state of, or was killed over: no marker yet,
// and nothing that could be lost.
bool IsInTheMaking(const std::string& path) {
  const auto names = Names(path);
  if (!names.ok()) return false;
  return std::all_of(names->begin(), names->end(), [&](const auto& name) {
    if (!IsOurs(name) || name == kMarker) return false;
    const auto objects = Names(absl::StrCat(path, "/", name));
    return objects.ok() && objects->empty();
  });
}

}  // namespace

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kCase:
      return "cases";
    case Kind::kFinding:
      return "findings";
    case Kind::kEpoch:
      return "epochs";
    case Kind::kUnit:
      return "units";
  }
  return "";
}

std::string ContentId(absl::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

absl::StatusOr<State> State::Open(const std::string& path, FileCalls& calls) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": no such state; `mlafuzz corpus import --state=DIR` makes one"));
  }
  const auto marker = ReadFile(absl::StrCat(path, "/", kMarker));
  if (absl::IsNotFound(marker.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": is no state (it has no file ", kMarker,
        "); name another folder, or let `mlafuzz corpus import` make one"));
  }
  if (!marker.ok()) return marker.status();
  if (*marker == kMarkerText) return State(path, calls);
  if (absl::StartsWith(*marker, kMarkerPrefix)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": \"", absl::StripAsciiWhitespace(*marker),
        "\" is of a later version than this program, which knows 1; use that "
        "version"));
  }
  return absl::DataLossError(
      absl::StrCat(path, "/", kMarker,
                   ": is damaged; write \"mlafuzz state 1\" into it if "
                   "this is a state"));
}

absl::StatusOr<State> State::OpenOrMake(const std::string& path,
                                        FileCalls& calls) {
  auto opened = Open(path, calls);
  const bool make = absl::IsNotFound(opened.status()) ||
                    absl::IsFailedPrecondition(opened.status());
  if (!make) return opened;
  std::error_code ignored;
  const bool there =
      std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
  if (there) {
    // What a process that was killed here may have left, and nothing else.
    const auto names = Names(path);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!IsOurs(name) || name == kMarker) return opened;
    }
  } else if (absl::Status s = MakeFolder(calls, path); !s.ok()) {
    return s;
  }
  State state(path, calls);
  for (const Kind kind : kAllKinds) {
    if (absl::Status s = MakeFolder(calls, state.FolderOf(kind)); !s.ok()) {
      return s;
    }
  }
  if (absl::Status s = WriteWhole(calls, path, kMarker, kMarkerText); !s.ok()) {
    return s;
  }
  return state;
}

std::string State::FolderOf(Kind kind) const {
  return absl::StrCat(path_, "/", KindName(kind));
}

absl::StatusOr<std::string> State::Put(Kind kind, absl::string_view bytes) {
  std::string id = ContentId(bytes);
  if (Get(kind, id).ok()) return id;
  // Copies of a state may lack empty folders.
  if (absl::Status s = MakeFolder(*calls_, FolderOf(kind)); !s.ok()) return s;
  absl::Status s = WriteWhole(*calls_, FolderOf(kind), id, bytes);
  if (!s.ok()) return s;
  return id;
}

bool State::Has(Kind kind, const std::string& id) const {
  std::error_code error;
  return std::filesystem::exists(absl::StrCat(FolderOf(kind), "/", id), error);
}

absl::StatusOr<std::string> State::Get(Kind kind, const std::string& id) const {
  const std::string path = absl::StrCat(FolderOf(kind), "/", id);
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes;
  if (ContentId(*bytes) != id) {
    return absl::DataLossError(absl::StrCat(
        path, ": is damaged (", bytes->size(),
        " bytes that are not what its name says); remove it, and run its "
        "units or the merge again"));
  }
  return bytes;
}

absl::StatusOr<std::vector<std::string>> State::List(Kind kind) const {
  auto names = Names(FolderOf(kind));
  if (!names.ok()) return names;
  names->erase(
      std::remove_if(names->begin(), names->end(),
                     [](const std::string& name) { return !IsId(name); }),
      names->end());
  return names;
}

std::string State::HeldByOther(Kind kind, const std::string& id) const {
  const auto names = Names(FolderOf(kind));
  if (!names.ok()) return "";
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(FolderOf(kind), "/", name);
    if (name == id) continue;
    const auto bytes = ReadFile(path);
    if (bytes.ok() && ContentId(*bytes) == id) return path;
  }
  return "";
}

absl::StatusOr<int> State::SweepTemporaries() {
  std::vector<std::string> folders = {path_};
  for (const Kind kind : kAllKinds) folders.push_back(FolderOf(kind));
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    DIR* dir = opendir(folder.c_str());
    if (dir == nullptr) continue;  // a copy without empty folders
    while (const dirent* entry = readdir(dir)) {
      if (IsTemporary(entry->d_name)) {
        found.push_back(absl::StrCat(folder, "/", entry->d_name));
      }
    }
    closedir(dir);
  }
  if (found.empty()) return 0;
  const auto now = NowIn(*calls_, path_);
  if (!now.ok()) return now.status();
  int removed = 0;
  for (const std::string& path : found) {
    struct stat info = {};
    // Gone: its writer was done, or another sweeps.
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (*now - info.st_mtime < kDay) continue;
    removed += unlink(path.c_str()) == 0;
  }
  return removed;
}

absl::StatusOr<std::vector<std::string>> State::Shards() const {
  auto names = Names(absl::StrCat(path_, "/", kShards));
  if (!names.ok()) return names;
  std::erase_if(*names, [this](const std::string& name) {
    return IsInTheMaking(absl::StrCat(path_, "/", kShards, "/", name));
  });
  return names;
}

absl::StatusOr<State> State::OpenOrMakeShard(const std::string& name) {
  const std::string folder = absl::StrCat(path_, "/", kShards);
  if (absl::Status s = MakeFolder(*calls_, folder); !s.ok()) return s;
  return OpenOrMake(absl::StrCat(folder, "/", name), *calls_);
}

absl::StatusOr<State> State::OpenShard(const std::string& name) const {
  return Open(absl::StrCat(path_, "/", kShards, "/", name), *calls_);
}

}  // namespace mlafuzz
