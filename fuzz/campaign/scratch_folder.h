#ifndef MLAFUZZ_FUZZ_CAMPAIGN_SCRATCH_FOLDER_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_SCRATCH_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mlafuzz {

// A folder for work files, $TMPDIR/mlafuzz.XXXXXX, that goes away with this
// object. It holds a file `.owner` ("PID STARTTIME") that is locked while this
// object lives. A process that is killed cannot clean up; the next one does:
// Create() first removes what SweepScratchFolders() finds.
class ScratchFolder {
 public:
  // Unavailable, with the way out, if $TMPDIR (/tmp) cannot hold it.
  static absl::StatusOr<ScratchFolder> Create();
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, int lock)
      : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

// libFuzzer says nothing of a case that it could not write. ResourceExhausted,
// with the way out, where a work folder's disk is nearly full: cases that were
// new may be missing then.
absl::Status ScratchHasRoom(const std::string& folder);

// Removes folders mlafuzz.?????? in `base` whose owner is dead: the folder and
// its `.owner` belong to this user, nobody holds the lock (also of another pid
// namespace), and the process is gone. All others are left alone. Returns how
// many were removed.
int SweepScratchFolders(const std::string& base);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_SCRATCH_FOLDER_H_
