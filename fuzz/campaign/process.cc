#include "fuzz/campaign/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

extern char** environ;

namespace mlafuzz {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    const std::string name = line.substr(0, line.find('='));
    bool overridden = false;
    for (const auto& [key, value] : added) overridden |= key == name;
    if (!overridden) all.push_back(line);
  }
  for (const auto& [key, value] : added) {
    all.push_back(absl::StrCat(key, "=", value));
  }
  return all;
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Spawn(
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto error = [&arguments](const char* what) {
    return absl::UnavailableError(absl::StrCat(
        "cannot ", what, " ", arguments[0], ": ", std::strerror(errno)));
  };
  if (access(arguments[0].c_str(), X_OK) != 0) return error("run");
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return error("make a pipe for");
  std::vector<std::string> argv = arguments;
  std::vector<std::string> envp = Environment(environment);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> envp_pointers = Pointers(envp);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(fds[0]);
    close(fds[1]);
    return error("fork for");
  }
  if (pid == 0) {
    // Only async-signal-safe calls from here on.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(fds[1], 1);
    dup2(fds[1], 2);
    execve(argv_pointers[0], argv_pointers.data(), envp_pointers.data());
    _exit(127);
  }
  setpgid(pid, pid);  // whoever comes first
  close(fds[1]);
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return absl::WrapUnique(new Process(pid, fds[0]));
}

Process::~Process() {
  if (!exit_.has_value()) {
    Kill();
    int status = 0;
    waitpid(pid_, &status, 0);
  }
  close(fd_);
}

void Process::ReadOutput() {
  char buffer[16 << 10];
  ssize_t n;
  while ((n = read(fd_, buffer, sizeof(buffer))) > 0) {
    output_.append(buffer, static_cast<std::size_t>(n));
    if (output_.size() > 2 * kKeptOutput) {
      output_.erase(0, output_.size() - kKeptOutput);
    }
  }
}

std::optional<Exit> Process::Poll() {
  if (exit_.has_value()) return exit_;
  int status = 0;
  rusage usage = {};
  if (wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  cpu_nanoseconds_ = Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime);
  ReadOutput();
  kill(-pid_, SIGKILL);  // what it may have left in its group
  if (WIFSIGNALED(status)) {
    exit_ = Exit{0, WTERMSIG(status)};
  } else {
    exit_ = Exit{WEXITSTATUS(status), 0};
  }
  return exit_;
}

void Process::Kill() {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
}

std::uint64_t Process::CpuNanoseconds() const {
  if (exit_.has_value()) return cpu_nanoseconds_;
  clockid_t clock;
  timespec now = {};
  if (clock_getcpuclockid(pid_, &clock) != 0 ||
      clock_gettime(clock, &now) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t Process::ResidentBytes() const {
  std::ifstream in(absl::StrCat("/proc/", pid_, "/statm"));
  std::uint64_t total = 0, resident = 0;
  if (!(in >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace mlafuzz
