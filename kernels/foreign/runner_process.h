#ifndef MLAFUZZ_KERNELS_FOREIGN_RUNNER_PROCESS_H_
#define MLAFUZZ_KERNELS_FOREIGN_RUNNER_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corpus/observation.h"
#include "kernels/crash_guard.h"
#include "kernels/foreign/wire.h"

namespace mlafuzz {

// When a runner counts as hung, or as too large.
struct RunnerLimits {
  double call_seconds = 5;    // of one call
  double start_seconds = 60;  // until the library is loaded
  // Resident memory that is not shared with the harness. (A limit on address
  // space would break CUDA and ASan.)
  std::uint64_t resident_bytes = std::uint64_t{2} << 30;
};

// What MakeTargetSet() gives to its libraries; to be set before.
RunnerLimits& DefaultRunnerLimits();

// A runner and what it is to load.
struct RunnerProgram {
  std::string name;  // of the target, for messages
  bool device = false;
  std::vector<std::string> arguments;
  // What is started in the place of a runner in C++: an interpreter and its
  // program. Empty: that runner.
  std::vector<std::string> interpreter;
  // A tool of compute-sanitizer under which it runs; empty: none.
  std::string sanitizer;
  // The GPU of a runner that takes lent memory; -1: it takes none.
  int lent_to = -1;
};

// Device memory for a runner to inherit; none.
struct LentDescriptor {
  int fd = -1;
  std::uint64_t bytes = 0;
};

// One runner with its target. Buggy, not malicious: it may crash,
// hang, end, eat memory, talk nonsense, print, and leave processes behind, and
// each ends as a Death that names the call. No process that it started outlives
// this object: they share its session or, having left it, become this process'
// children (PR_SET_CHILD_SUBREAPER).
class RunnerProcess {
 public:
  // Starts the runner and waits until it has loaded the target.
  // InvalidArgument, naming the target, if it cannot.
  static absl::StatusOr<std::unique_ptr<RunnerProcess>> Start(
      const RunnerProgram& program, int arena_fd, const RunnerLimits& limits,
      const LentDescriptor& lent = {});
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  const wire::Hello& hello() const { return hello_; }
  const std::string& description() const { return description_; }
  // What the calls run on; empty: this machine's processors.
  const std::string& device() const { return device_; }
  // Of the last batch: in the target's own code, where the runner tells.
  double busy_seconds() const {
    return static_cast<double>(control_->busy) * 1e-9;
  }

  // Of the last batch: by wire::kStage*, where the runner tells; else 0.
  double stage_seconds(int stage) const {
    return static_cast<double>(control_->stages[stage]) * 1e-9;
  }
  // Bytes a second, where the runner tells; else 0.
  double device_rate() const {
    return static_cast<double>(control_->device_rate);
  }
  double in_rate() const { return static_cast<double>(control_->in_rate); }
  double out_rate() const { return static_cast<double>(control_->out_rate); }

  struct Reply {
    std::int32_t status = 0;  // MLAFUZZ_* or wire::kNoDeviceMemory
    std::string message;
    std::vector<wire::Stray> strays;
  };
  // How the runner ended in the middle of a batch.
  struct Death {
    CallStatus status = CallStatus::kCrash;
    std::string message;
    // The call that ran, by what the runner noted: a hint.
    std::size_t call = 0;
    // Of a fault: the address relative to the arena's first byte, where known.
    std::optional<Crash> crash;
    // Of a device: it was a memory access, whose address CUDA does not tell.
    bool unknown_address = false;
  };
  // Makes the calls of one wire::Run. One reply a call, or how it died; then
  // this object is of no further use.
  std::optional<Death> Run(const std::string& payload, std::size_t calls,
                           std::vector<Reply>* replies);

  // Has the runner end, and returns what its sanitizer reported. Then this
  // object is of no further use.
  std::vector<std::string> End();

  // What keeps processes from outliving a runner here, in words.
  static const char* Mechanism();

 private:
  enum class Wait { kFrame, kDied, kClosed, kGarbage, kTimeout, kMemory };

  RunnerProcess(RunnerProgram program, const RunnerLimits& limits)
      : program_(std::move(program)), limits_(limits) {}

  absl::StatusOr<std::vector<std::string>> Words();
  absl::Status Spawn(int arena_fd, const LentDescriptor& lent);
  absl::Status ReadHello();
  // The next frame into frame_ and payload_. `seconds`: without progress.
  Wait AwaitFrame(double seconds);
  bool TakeFrame(bool* garbage);
  void DrainLog();
  void ReadSocket();
  bool Send(const std::string& payload);
  bool ParseReplies(std::size_t calls, std::vector<Reply>* replies) const;
  Death DiedOnDevice();
  // Waits for the end of a process that is ending; how it ended, in words.
  Death Ended(Wait wait, double seconds);
  std::uint64_t OwnResidentBytes() const;
  // Processes that it started and that still run.
  int LeftBehind() const;
  void Kill();
  std::string LastLine() const;

  RunnerProgram program_;
  RunnerLimits limits_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int socket_ = -1;
  int log_ = -1;
  int children_ = -1;  // /proc/PID/task/PID/children
  volatile wire::Control* control_ = nullptr;
  std::string sanitizer_log_;  // a file; empty: no sanitizer
  wire::Hello hello_;
  std::string description_;
  std::string device_;

  bool loaded_ = false;  // said Hello
  bool closed_ = false;
  bool log_closed_ = false;
  std::chrono::steady_clock::time_point looked_;  // at its memory
  std::string received_;
  wire::Frame frame_;
  std::string payload_;
  std::string log_text_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_RUNNER_PROCESS_H_
