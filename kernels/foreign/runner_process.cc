#include "kernels/foreign/runner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/foreign/program_files.h"
#include "kernels/foreign/sanitizer_log.h"
#include "kernels/foreign/starvation.h"

extern char** environ;

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

// Of what a target prints.
constexpr std::size_t kKeptLog = 4096;
// Between two looks at a runner that says nothing.
constexpr int kTickMs = 20;
// A process that closes its socket by ending needs a moment to be seen dead.
constexpr int kGraceMs = 100;

// The runners of this process: what is not among them was left behind.
std::set<pid_t>& Living() {
  static auto* living = new std::set<pid_t>;
  return *living;
}

double Seconds(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

// Child processes of this one, whatever thread started them.
std::vector<pid_t> OwnChildren() {
  std::vector<pid_t> children;
  std::ifstream file(
      absl::StrCat("/proc/self/task/", syscall(SYS_gettid), "/children"));
  pid_t pid;
  while (file >> pid) children.push_back(pid);
  return children;
}

// A descriptor above those that a runner inherits.
int MoveUp(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
  close(fd);
  return high;
}

// What a target wrote, fit for terminals and for protobuf's strings: bytes that
// are no printable ASCII as "\\xNN".
std::string Printable(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      out.push_back(c);
    } else {
      absl::StrAppend(
          &out, "\\x",
          absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return out;
}

std::string FindSanitizer() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    folders = absl::StrSplit(path, ':');
  }
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    const std::string tool = absl::StrCat(folder, "/compute-sanitizer");
    if (access(tool.c_str(), X_OK) == 0) return tool;
  }
  return "";
}

std::string Errno(const char* what) {
  return absl::StrCat(what, ": ", std::strerror(errno));
}

}  // namespace

RunnerLimits& DefaultRunnerLimits() {
  static RunnerLimits limits;
  return limits;
}

const char* RunnerProcess::Mechanism() {
  return "own session, process group and subreaper";
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(
    const RunnerProgram& program, int arena_fd, const RunnerLimits& limits,
    const LentDescriptor& lent) {
  std::unique_ptr<RunnerProcess> process(new RunnerProcess(program, limits));
  if (absl::Status s = process->Spawn(arena_fd, lent); !s.ok()) return s;
  if (absl::Status s = process->ReadHello(); !s.ok()) return s;
  return process;
}

RunnerProcess::~RunnerProcess() {
  Kill();
  if (!sanitizer_log_.empty()) unlink(sanitizer_log_.c_str());
  for (const int fd : {socket_, log_, children_}) {
    if (fd >= 0) close(fd);
  }
  if (control_ != nullptr) {
    munmap(const_cast<wire::Control*>(control_), sizeof(wire::Control));
  }
}

// The command line.
absl::StatusOr<std::vector<std::string>> RunnerProcess::Words() {
  std::vector<std::string> runner = program_.interpreter;
  if (runner.empty()) {
    const absl::StatusOr<std::string> found = FindRunner(program_.device);
    if (!found.ok()) return found.status();
    runner = {*found};
  }
  std::vector<std::string> words;
  if (!program_.sanitizer.empty()) {
    const std::string tool = FindSanitizer();
    if (tool.empty()) {
      return absl::NotFoundError(
          "compute-sanitizer is neither in $PATH nor in /usr/local/cuda/bin; "
          "it comes with the CUDA Toolkit");
    }
    char name[] = "/tmp/mlafuzz-sanitizer.XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) return absl::UnavailableError(Errno(name));
    close(file);
    sanitizer_log_ = name;
    words = {tool, "--tool", program_.sanitizer, "--log-file", name};
  }
  words.insert(words.end(), runner.begin(), runner.end());
  words.insert(words.end(), program_.arguments.begin(),
               program_.arguments.end());
  return words;
}

absl::Status RunnerProcess::Spawn(int arena_fd, const LentDescriptor& lent) {
  auto words = Words();
  if (!words.ok()) return words.status();
  // Processes that a target starts and abandons come here.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int sockets[2];
  int pipes[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::UnavailableError(absl::StrCat(
        Errno("socketpair"),
        errno == EMFILE ? "; raise `ulimit -n`, 256 will do" : ""));
  }
  socket_ = MoveUp(sockets[0]);
  const int theirs = MoveUp(sockets[1]);
  if (pipe2(pipes, O_CLOEXEC) != 0) {
    close(theirs);
    return absl::UnavailableError(Errno("pipe"));
  }
  log_ = MoveUp(pipes[0]);
  const int log_in = MoveUp(pipes[1]);
  fcntl(socket_, F_SETFL, O_NONBLOCK);
  fcntl(log_, F_SETFL, O_NONBLOCK);
  const int control = MoveUp(memfd_create("mlafuzz-control", MFD_CLOEXEC));
  const int arena = fcntl(arena_fd, F_DUPFD_CLOEXEC, 64);
  const int memory = lent.fd < 0 ? -1 : fcntl(lent.fd, F_DUPFD_CLOEXEC, 64);
  void* page = MAP_FAILED;
  if (control >= 0 && ftruncate(control, sizeof(wire::Control)) == 0) {
    page = mmap(nullptr, sizeof(wire::Control), PROT_READ | PROT_WRITE,
                MAP_SHARED, control, 0);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, log_in, 1);
  posix_spawn_file_actions_adddup2(&actions, log_in, 2);
  posix_spawn_file_actions_adddup2(&actions, theirs, wire::kSocketFd);
  posix_spawn_file_actions_adddup2(&actions, arena, wire::kArenaFd);
  posix_spawn_file_actions_adddup2(&actions, control, wire::kControlFd);
  if (memory >= 0) {
    posix_spawn_file_actions_adddup2(&actions, memory, wire::kLentFd);
    if (page != MAP_FAILED) {
      static_cast<volatile wire::Control*>(page)->lent = lent.bytes;
    }
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // They lie above those that the runner is to have.
  const bool descriptors = socket_ >= 0 && theirs >= 0 && log_ >= 0 &&
                           log_in >= 0 && control >= 0 && arena >= 0 &&
                           (lent.fd < 0 || memory >= 0);
  int error = !descriptors ? EMFILE : page == MAP_FAILED ? ENOMEM : 0;
  if (error == 0) {
    error = posix_spawn(&pid_, arguments[0], &actions, &attributes,
                        arguments.data(), environ);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (const int fd : {theirs, log_in, control, arena, memory}) {
    if (fd >= 0) close(fd);
  }
  if (page != MAP_FAILED) {
    control_ = static_cast<volatile wire::Control*>(page);
  }
  if (error != 0) {
    pid_ = -1;
    return absl::UnavailableError(absl::StrCat(
        "cannot start ", (*words)[0], ": ", std::strerror(error),
        error == EMFILE ? "; raise `ulimit -n`, 256 will do" : ""));
  }
  Living().insert(pid_);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  children_ =
      open(absl::StrCat("/proc/", pid_, "/task/", pid_, "/children").c_str(),
           O_RDONLY | O_CLOEXEC);
  return absl::OkStatus();
}

absl::Status RunnerProcess::ReadHello() {
  const auto fail = [this](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(program_.name, ": ", why));
  };
  const Wait wait = AwaitFrame(limits_.start_seconds);
  if (wait == Wait::kTimeout) {
    Kill();
    return fail(absl::StrCat("not loaded after ", limits_.start_seconds,
                             " s; a longer wait: --start-timeout"));
  }
  if (wait != Wait::kFrame) {
    const Death death = Ended(wait, limits_.start_seconds);
    return fail(absl::StrCat("ended while it was loaded: ", death.message));
  }
  if (frame_.type == wire::Type::kLoadFailed) return fail(Printable(payload_));
  if (frame_.type != wire::Type::kHello || payload_.size() < sizeof hello_) {
    return fail("its process answered with garbage while it was loaded");
  }
  std::memcpy(&hello_, payload_.data(), sizeof hello_);
  const std::size_t text = payload_.size() - sizeof hello_;
  if (text != std::size_t{hello_.description_length} + hello_.device_length) {
    return fail("its process answered with garbage while it was loaded");
  }
  description_ = payload_.substr(sizeof hello_, hello_.description_length);
  device_ = payload_.substr(sizeof hello_ + hello_.description_length);
  loaded_ = true;
  return absl::OkStatus();
}

std::optional<RunnerProcess::Death> RunnerProcess::Run(
    const std::string& payload, std::size_t calls,
    std::vector<Reply>* replies) {
  control_->started = 0;
  control_->address = 0;
  control_->code = 0;
  control_->busy = 0;
  for (int stage = 0; stage < wire::kStages; ++stage) {
    control_->stages[stage] = 0;
  }
  if (!Send(payload)) return Ended(Wait::kClosed, 0);
  const Wait wait = AwaitFrame(limits_.call_seconds);
  if (wait != Wait::kFrame) return Ended(wait, limits_.call_seconds);
  if (frame_.type == wire::Type::kDeviceFault) return DiedOnDevice();
  if (!ParseReplies(calls, replies)) return Ended(Wait::kGarbage, 0);
  // Calls that are shorter than a tick leak as well.
  if (const Clock::time_point now = Clock::now();
      Seconds(now - looked_) * 1000 >= kTickMs) {
    looked_ = now;
    if (OwnResidentBytes() > limits_.resident_bytes) {
      return Ended(Wait::kMemory, 0);
    }
  }
  // Under a tool the runner itself is a child.
  const int left = program_.sanitizer.empty() ? LeftBehind() : 0;
  if (left != 0) {
    Death death;
    death.status = CallStatus::kProtocol;
    death.message = absl::StrCat("left ", left, " processes running");
    death.call = calls - 1;
    Kill();
    return death;
  }
  return std::nullopt;
}

bool RunnerProcess::ParseReplies(std::size_t calls,
                                 std::vector<Reply>* replies) const {
  replies->clear();
  const absl::string_view payload = payload_;
  std::size_t at = 0;
  for (std::size_t i = 0; i < calls && frame_.type == wire::Type::kDone; ++i) {
    wire::Result result;
    if (payload.size() - at < sizeof result) return false;
    std::memcpy(&result, payload.data() + at, sizeof result);
    at += sizeof result;
    if (result.message_length > wire::kMaxMessage ||
        payload.size() - at < result.message_length) {
      return false;
    }
    replies->push_back({result.status,
                        Printable(payload.substr(at, result.message_length)),
                        {}});
    at += result.message_length;
    if ((payload.size() - at) / sizeof(wire::Stray) < result.strays) {
      return false;
    }
    std::vector<wire::Stray>& strays = replies->back().strays;
    strays.resize(result.strays);
    for (wire::Stray& stray : strays) {
      std::memcpy(&stray, payload.data() + at, sizeof stray);
      at += sizeof stray;
    }
  }
  return replies->size() == calls && at == payload.size();
}

std::vector<std::string> RunnerProcess::End() {
  shutdown(socket_, SHUT_WR);
  const Clock::time_point start = Clock::now();
  siginfo_t info = {};
  while (pid_ >= 0 && info.si_pid == 0 &&
         Seconds(Clock::now() - start) < limits_.start_seconds) {
    usleep(5000);
    DrainLog();
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  }
  Kill();
  std::ifstream file(sanitizer_log_);
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  return SanitizerReportsIn(log);
}

RunnerProcess::Death RunnerProcess::DiedOnDevice() {
  wire::DeviceFault fault;
  if (payload_.size() < sizeof fault) return Ended(Wait::kGarbage, 0);
  std::memcpy(&fault, payload_.data(), sizeof fault);
  Death death;
  death.status = CallStatus::kCrash;
  death.message = Printable(absl::string_view(payload_).substr(sizeof fault));
  death.unknown_address =
      absl::StartsWith(death.message, "cudaErrorIllegalAddress") ||
      absl::StartsWith(death.message, "cudaErrorMisalignedAddress");
  death.call = fault.call;
  // Its sanitizer still has to speak.
  if (program_.sanitizer.empty()) Kill();
  return death;
}

bool RunnerProcess::Send(const std::string& payload) {
  wire::Frame frame;
  frame.type = wire::Type::kRun;
  frame.length = payload.size();
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes += payload;
  std::size_t at = 0;
  const Clock::time_point start = Clock::now();
  while (at < bytes.size()) {
    const ssize_t n =
        send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n > 0) {
      at += static_cast<std::size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      pollfd ready = {socket_, POLLOUT, 0};
      poll(&ready, 1, kTickMs);
      DrainLog();
      if (Seconds(Clock::now() - start) > limits_.call_seconds) return false;
    } else {
      return false;
    }
  }
  return true;
}

void RunnerProcess::ReadSocket() {
  char buffer[16384];
  while (received_.size() < wire::kMaxReply + sizeof(wire::Frame)) {
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    if (n > 0) {
      received_.append(buffer, static_cast<std::size_t>(n));
      if (static_cast<std::size_t>(n) < sizeof buffer) return;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || errno != EAGAIN) closed_ = true;
    return;
  }
}

void RunnerProcess::DrainLog() {
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(log_, buffer, sizeof buffer);
    if (n == 0) log_closed_ = true;
    if (n <= 0) return;
    log_text_.append(buffer, static_cast<std::size_t>(n));
    if (log_text_.size() > 4 * kKeptLog) {
      log_text_.erase(0, log_text_.size() - kKeptLog);
    }
  }
}

bool RunnerProcess::TakeFrame(bool* garbage) {
  if (received_.size() < sizeof frame_) return false;
  std::memcpy(&frame_, received_.data(), sizeof frame_);
  if (frame_.magic != wire::kMagic || frame_.version != wire::kVersion ||
      frame_.length > wire::kMaxReply) {
    *garbage = true;
    return false;
  }
  if (received_.size() < sizeof frame_ + frame_.length) return false;
  payload_ = received_.substr(sizeof frame_, frame_.length);
  received_.erase(0, sizeof frame_ + frame_.length);
  return true;
}

RunnerProcess::Wait RunnerProcess::AwaitFrame(double seconds) {
  Clock::time_point progress = Clock::now();
  std::uint64_t started = control_->started;
  Clock::time_point closed_at;
  bool closed_seen = false;
  std::optional<Starvation> starvation;
  for (;;) {
    pollfd ready[3] = {{closed_ ? -1 : socket_, POLLIN, 0},
                       {log_closed_ ? -1 : log_, POLLIN, 0},
                       {pidfd_, POLLIN, 0}};
    poll(ready, 3, closed_ ? 1 : kTickMs);
    // POLLHUP: it closed its standard output.
    if (ready[1].revents != 0) DrainLog();
    if (!closed_ && ready[0].revents != 0) ReadSocket();
    bool garbage = false;
    if (TakeFrame(&garbage)) return Wait::kFrame;
    if (garbage) return Wait::kGarbage;
    const Clock::time_point now = Clock::now();
    siginfo_t info = {};
    if (ready[2].revents != 0 || (pidfd_ < 0 &&
                                  waitid(P_PID, static_cast<id_t>(pid_), &info,
                                         WEXITED | WNOHANG | WNOWAIT) == 0 &&
                                  info.si_pid != 0)) {
      // Its last words may have come in between.
      ReadSocket();
      if (TakeFrame(&garbage)) return Wait::kFrame;
      return garbage ? Wait::kGarbage : Wait::kDied;
    }
    if (closed_) {
      if (!closed_seen) closed_at = now;
      closed_seen = true;
      if (Seconds(now - closed_at) * 1000 > kGraceMs) return Wait::kClosed;
      continue;
    }
    if (control_->started != started) {
      started = control_->started;
      progress = now;
    }
    const double silent = Seconds(now - progress);
    // What it waits in the first tick is as good as nothing.
    if (silent * 1000 < kTickMs) {
      starvation.reset();
    } else if (!starvation.has_value()) {
      starvation.emplace(pid_);
    }
    if (silent > seconds && starvation->TimeHad(silent) > seconds) {
      return Wait::kTimeout;
    }
    // By the clock: one that prints without end is never silent.
    if (Seconds(now - looked_) * 1000 >= kTickMs) {
      looked_ = now;
      if (OwnResidentBytes() > limits_.resident_bytes) return Wait::kMemory;
    }
  }
}

RunnerProcess::Death RunnerProcess::Ended(Wait wait, double seconds) {
  Death death;
  const std::uint64_t started = control_->started;
  death.call = started == 0 ? 0 : static_cast<std::size_t>(started - 1);
  if (wait == Wait::kClosed && !closed_) {
    // Ended, or only deaf?
    for (int i = 0; i < kGraceMs / 5 && wait == Wait::kClosed; ++i) {
      siginfo_t info = {};
      if (waitid(P_PID, static_cast<id_t>(pid_), &info,
                 WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid != 0) {
        wait = Wait::kDied;
      } else {
        usleep(5000);
      }
    }
  }
  DrainLog();
  switch (wait) {
    case Wait::kTimeout:
      death.status = CallStatus::kHang;
      death.message = absl::StrCat("no end after ", seconds, " s");
      break;
    case Wait::kMemory:
      death.status = CallStatus::kOutOfMemory;
      death.message =
          absl::StrCat("its process took more than ",
                       limits_.resident_bytes >> 20, " MiB of memory");
      break;
    case Wait::kClosed:
      death.status = CallStatus::kProtocol;
      death.message = "closed its connection to the harness";
      break;
    case Wait::kGarbage:
    case Wait::kFrame:
      death.status = CallStatus::kProtocol;
      death.message = "its process answered with garbage";
      break;
    case Wait::kDied: {
      siginfo_t info = {};
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
      if (info.si_code == CLD_EXITED) {
        death.status = CallStatus::kProtocol;
        death.message =
            info.si_status == wire::kExitDescriptorsClosed
                ? "closed file descriptors that it had not opened, the "
                  "harness' among them"
                : absl::StrCat("ended its process with exit code ",
                               info.si_status,
                               loaded_ ? " in the middle of a call" : "");
        break;
      }
      death.status = CallStatus::kCrash;
      const int signal = info.si_status;
      if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
          signal == SIGILL) {
        death.message = SignalName(signal);
        Crash crash;
        crash.signal = signal;
        // SI_KERNEL: the processor does not tell the address.
        const auto code = static_cast<std::int64_t>(control_->code);
        crash.has_address = code != 0x80;
        // 0: nobody left a note; the target's own handler took the signal, or
        // another process sent it.
        if (code <= 0) {
          if (code < 0) absl::StrAppend(&death.message, " (sent, not a fault)");
          break;
        }
        crash.address =
            static_cast<std::uintptr_t>(control_->address - control_->arena);
        // Of small addresses only the value says anything, and before a call
        // there are no tensors to measure from.
        if ((control_->address >= 4096 || !crash.has_address) && loaded_) {
          death.crash = crash;
        }
        if (control_->address < 4096 && crash.has_address) {
          absl::StrAppend(&death.message, " at a null pointer");
        }
      } else {
        const char* name = sigabbrev_np(signal);
        death.message = name != nullptr ? absl::StrCat("SIG", name)
                                        : absl::StrCat("signal ", signal);
      }
      break;
    }
  }
  if (!death.crash.has_value()) {
    const std::string line = LastLine();
    if (!line.empty()) {
      absl::StrAppend(&death.message, "; it printed \"", line, "\"");
    }
  }
  Kill();
  return death;
}

std::string RunnerProcess::LastLine() const {
  // Python's account of a fault ends in other things than the line it was in:
  // 'File "x.py", line 3 in write'.
  if (const std::size_t fault = log_text_.rfind("Fatal Python error: ");
      fault != std::string::npos) {
    const std::size_t frame = log_text_.find("  File ", fault);
    if (frame != std::string::npos) {
      std::string line =
          log_text_.substr(frame + 2, log_text_.find('\n', frame) - frame - 2);
      // Name and line stand behind all folders.
      constexpr std::size_t kMost = 198;
      if (line.size() > kMost) {
        line = absl::StrCat("File \"...", line.substr(line.size() - kMost + 9));
      }
      return Printable(line);
    }
  }
  const std::vector<std::string> lines = absl::StrSplit(log_text_, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const absl::string_view text = absl::StripAsciiWhitespace(*line);
    if (!text.empty()) return Printable(text.substr(0, 200));
  }
  return "";
}

std::uint64_t RunnerProcess::OwnResidentBytes() const {
  std::ifstream statm(absl::StrCat("/proc/", pid_, "/statm"));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  statm >> size >> resident >> shared;
  if (resident < shared) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(getpagesize());
}

int RunnerProcess::LeftBehind() const {
  int count = 0;
  char buffer[4096];
  const ssize_t n =
      children_ < 0 ? 0 : pread(children_, buffer, sizeof buffer, 0);
  for (ssize_t i = 0; i < n; ++i) count += buffer[i] == ' ';
  for (const pid_t pid : OwnChildren()) count += Living().count(pid) == 0;
  return count;
}

void RunnerProcess::Kill() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  int status;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  Living().erase(pid_);
  pid_ = -1;
  if (pidfd_ >= 0) close(pidfd_);
  pidfd_ = -1;
  // Those that left its session are this process' children now, and so will be
  // what they have started.
  for (int round = 0; round < 100; ++round) {
    bool any = false;
    for (const pid_t child : OwnChildren()) {
      if (Living().count(child) != 0) continue;
      any = true;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    if (!any) break;
  }
}

}  // namespace mlafuzz
