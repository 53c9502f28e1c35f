#ifndef MLAFUZZ_FUZZ_WORKER_MINIMIZE_LOG_H_
#define MLAFUZZ_FUZZ_WORKER_MINIMIZE_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// What the tries of one minimisation have answered, in a file: a line of what
// it is of, then a line a try: the case's hash, 1 if it fails alike, 0 if not,
// and the bytes of the smallest case so far. A minimisation that was cut and is
// begun again asks nothing twice, takes the same way and ends at the same case.
class MinimizeLog {
 public:
  // `of`: a number of what is minimised: case, cause, targets. Made where it is
  // missing. A line that was cut is taken away. FailedPrecondition if the file
  // is of something else, Unavailable if it cannot be read or written.
  static absl::StatusOr<std::unique_ptr<MinimizeLog>> Open(
      const std::string& path, std::uint64_t of);
  ~MinimizeLog();
  MinimizeLog(const MinimizeLog&) = delete;
  MinimizeLog& operator=(const MinimizeLog&) = delete;

  std::optional<bool> Find(std::uint64_t hash) const;
  // Written before it returns. Unavailable if the disk is full, say.
  absl::Status Append(std::uint64_t hash, bool fails, std::uint64_t bytes);

 private:
  MinimizeLog(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  const std::string path_;
  std::unordered_map<std::uint64_t, bool> answers_;
};

// A number of what a MINIMIZE request is about: case, cause, targets, turns.
std::uint64_t NumberOf(const WorkRequest& request);

// How far the minimisation has come that writes `path`; all 0 if none does.
struct MinimizeState {
  std::uint64_t tries = 0;
  std::uint64_t since_success = 0;
  std::uint64_t bytes = 0;
};
MinimizeState ReadMinimizeState(const std::string& path);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_MINIMIZE_LOG_H_
