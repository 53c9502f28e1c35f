#ifndef MLAFUZZ_KERNELS_FOREIGN_STARVATION_H_
#define MLAFUZZ_KERNELS_FOREIGN_STARVATION_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

namespace mlafuzz {

// How long a process and its children were ready to run while the machine had
// no processor for them. A watchdog that takes such a wait for a hang calls
// right kernels wrong on a machine that others load.
class Starvation {
 public:
  // Counts from now on.
  explicit Starvation(pid_t pid);

  // Of `elapsed` seconds since then those in which it could have got on:
  // without the wait of the thread that waited longest, but no less than the
  // CPU time of all, for its own threads may be what it waits for. All of them
  // where the kernel keeps no such account (/proc/PID/schedstat).
  double TimeHad(double elapsed) const;

  struct Nanoseconds {
    std::uint64_t ran = 0;
    std::uint64_t waited = 0;
  };

 private:
  pid_t pid_;
  std::map<pid_t, Nanoseconds> before_;  // by thread
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_STARVATION_H_
