#include "kernels/foreign/starvation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

using Threads = std::map<pid_t, Starvation::Nanoseconds>;

// Generations of children; a cycle there is none, but pids are used again.
constexpr int kDeepest = 8;

void AddThreads(pid_t pid, int depth, Threads& known) {
  if (depth > kDeepest) return;
  std::error_code error;
  std::filesystem::directory_iterator threads(
      absl::StrCat("/proc/", pid, "/task"), error);
  for (; !error && threads != std::filesystem::directory_iterator();
       threads.increment(error)) {
    const std::string thread = threads->path();
    pid_t tid = 0;
    if (!absl::SimpleAtoi(threads->path().filename().string(), &tid)) continue;
    Starvation::Nanoseconds spent;
    if (std::ifstream(thread + "/schedstat") >> spent.ran >> spent.waited) {
      known[tid] = spent;
    }
    std::ifstream children(thread + "/children");
    for (pid_t child = 0; children >> child;) {
      AddThreads(child, depth + 1, known);
    }
  }
}

Threads ThreadsOf(pid_t pid) {
  Threads known;
  AddThreads(pid, 0, known);
  return known;
}

}  // namespace

Starvation::Starvation(pid_t pid) : pid_(pid), before_(ThreadsOf(pid)) {}

double Starvation::TimeHad(double elapsed) const {
  std::uint64_t ran = 0, waited = 0;
  for (const auto& [tid, now] : ThreadsOf(pid_)) {
    const auto found = before_.find(tid);
    Nanoseconds before;
    // Less than before: another thread of the same number.
    if (found != before_.end() && found->second.ran <= now.ran &&
        found->second.waited <= now.waited) {
      before = found->second;
    }
    ran += now.ran - before.ran;
    waited = std::max(waited, now.waited - before.waited);
  }
  return std::min(elapsed,
                  std::max(elapsed - static_cast<double>(waited) * 1e-9,
                           static_cast<double>(ran) * 1e-9));
}

}  // namespace mlafuzz
