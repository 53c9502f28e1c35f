#ifndef MLAFUZZ_FUZZ_CAMPAIGN_PROCESS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mlafuzz {

// How a process ended.
struct Exit {
  int code = 0;    // if it exited
  int signal = 0;  // if it was killed; else 0
};

// One child in a process group of its own, whose output comes here. Killed
// with its whole group when this object or this process goes away.
class Process {
 public:
  // `environment` is added to (and overrides) this process' own. The child's
  // stdout and stderr are one stream.
  static absl::StatusOr<std::unique_ptr<Process>> Spawn(
      const std::vector<std::string>& arguments,
      const std::vector<std::pair<std::string, std::string>>& environment);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Takes in what it wrote so far. Never blocks.
  void ReadOutput();
  // The last kKeptOutput bytes; ReadOutput() before.
  const std::string& output() const { return output_; }
  // Nothing while it runs.
  std::optional<Exit> Poll();
  void Kill();
  // CPU time of the child so far, or in all once Poll() saw its end; 0 if
  // unknown.
  std::uint64_t CpuNanoseconds() const;
  // Resident memory in bytes; 0 if unknown.
  std::uint64_t ResidentBytes() const;
  pid_t pid() const { return pid_; }

  static constexpr std::size_t kKeptOutput = 64 << 10;

 private:
  Process(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  pid_t pid_;
  int fd_;
  std::string output_;
  std::optional<Exit> exit_;
  std::uint64_t cpu_nanoseconds_ = 0;  // once it has ended
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_PROCESS_H_
