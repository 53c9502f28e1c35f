#ifndef MLAFUZZ_FUZZ_STATE_STATE_H_
#define MLAFUZZ_FUZZ_STATE_STATE_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fuzz/state/file_calls.h"

namespace mlafuzz {

// What a state holds. Parts come before what names them.
enum class Kind {
  kCase,     // corpus/case.proto, canonical binary
  kFinding,  // fuzz/state/records.proto, as those below
  kEpoch,
  kUnit,
};
inline constexpr std::array kAllKinds = {Kind::kCase, Kind::kFinding,
                                         Kind::kEpoch, Kind::kUnit};
// The folder of a kind: "cases", ...
const char* KindName(Kind kind);

// 128 bits of the bytes (XXH3) as 32 hex digits. Of a canonical case that is
// its CaseId.
std::string ContentId(absl::string_view bytes);

// What a fleet knows: a set of objects that only grows, each a file named by
// its content,
//
//   STATE/mlafuzz-state    "mlafuzz state 1": what it is, and its version
//   STATE/cases/ID         STATE/findings/ID  STATE/epochs/ID  STATE/units/ID
//   STATE/shards/NAME/     a state likewise, of one task of a fleet
//
// Two that write the same object write the same bytes, and no file is changed
// once it is there: any number of processes on any machines may write to one
// state, on network file systems too, and locks are not needed.
class State {
 public:
  // NotFound if it is not there, FailedPrecondition for a folder that is none
  // or that a later version wrote; both name the way out.
  static absl::StatusOr<State> Open(const std::string& path,
                                    FileCalls& calls = RealFileCalls());
  // Makes what is missing. A folder with anything else in it is refused.
  static absl::StatusOr<State> OpenOrMake(const std::string& path,
                                          FileCalls& calls = RealFileCalls());

  // Adds an object; its id. One that is there whole is left alone, one that is
  // damaged is replaced.
  absl::StatusOr<std::string> Put(Kind kind, absl::string_view bytes);
  bool Has(Kind kind, const std::string& id) const;
  // DataLoss if the file's bytes are not what its name says.
  absl::StatusOr<std::string> Get(Kind kind, const std::string& id) const;
  // Ids, sorted. Files that are not named by an id are nobody's.
  absl::StatusOr<std::vector<std::string>> List(Kind kind) const;

  // The file of another name, in the folder of that kind, that holds the object
  // `id`; empty if none does.
  std::string HeldByOther(Kind kind, const std::string& id) const;

  // Names below shards/, sorted, without those that a process is about to make,
  // or was killed over: they hold nothing.
  absl::StatusOr<std::vector<std::string>> Shards() const;
  absl::StatusOr<State> OpenOrMakeShard(const std::string& name);
  absl::StatusOr<State> OpenShard(const std::string& name) const;

  // Removes what killed writers left: files with a temporary name (WriteWhole)
  // that are a day older than one made now, by the clock of the file system. A
  // whole file takes seconds to be written; a writer that slept for a day finds
  // its file gone, says so, and nothing is lost. How many there were.
  absl::StatusOr<int> SweepTemporaries();

  const std::string& path() const { return path_; }
  std::string FolderOf(Kind kind) const;

 private:
  State(std::string path, FileCalls& calls)
      : path_(std::move(path)), calls_(&calls) {}

  std::string path_;
  FileCalls* calls_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_STATE_H_
