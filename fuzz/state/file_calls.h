#ifndef MLAFUZZ_FUZZ_STATE_FILE_CALLS_H_
#define MLAFUZZ_FUZZ_STATE_FILE_CALLS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// The system calls by which a state is written, so that a test can have each
// of them fail. As in the manual: -1 and errno.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int Open(const char* path, int flags, mode_t mode);
  virtual ssize_t Write(int fd, const void* data, std::size_t size);
  virtual int Sync(int fd);
  virtual int Close(int fd);
  virtual int Rename(const char* from, const char* to);
  virtual int MakeFolder(const char* path, mode_t mode);
};
FileCalls& RealFileCalls();

// Writes `folder`/`name` so that at each moment, on each machine that sees the
// folder, the whole file is there or what was there before: a temporary file
// beside it that no other process writes, synced, closed (where network file
// systems report a full disk), renamed. Temporary names begin with a dot; one
// stays if the process is killed.
//
// ResourceExhausted for a full disk, PermissionDenied for a read-only one,
// DataLoss for what else fails; each names the file and what to do.
absl::Status WriteWhole(FileCalls& calls, const std::string& folder,
                        const std::string& name, absl::string_view bytes);

// Makes one folder; one that is there is fine.
absl::Status MakeFolder(FileCalls& calls, const std::string& path);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_FILE_CALLS_H_
