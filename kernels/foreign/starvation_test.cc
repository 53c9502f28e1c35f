#include "kernels/foreign/starvation.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// A child on the processor of this thread, and `rivals` beside it that leave it
// little of that.
class Children {
 public:
  explicit Children(int rivals, bool spins) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    child_ = Fork(one, spins);
    for (int i = 0; i < rivals; ++i) rivals_[i] = Fork(one, true);
  }
  ~Children() {
    End(child_);
    for (const pid_t rival : rivals_) {
      if (rival != 0) End(rival);
    }
  }
  pid_t child() const { return child_; }

 private:
  static pid_t Fork(const cpu_set_t& cpus, bool spins) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    sched_setaffinity(0, sizeof cpus, &cpus);
    for (volatile unsigned long spun = 0;; spun = spun + 1) {
      if (!spins) pause();
    }
  }
  static void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  pid_t child_ = 0;
  pid_t rivals_[3] = {};
};

bool KernelCounts() {
  std::ifstream in("/proc/self/schedstat");
  unsigned long long ran = 0, waited = 0;
  return static_cast<bool>(in >> ran >> waited);
}

constexpr double kLooked = 0.8;  // seconds

double TimeHadIn(const Starvation& starvation) {
  std::this_thread::sleep_for(std::chrono::duration<double>(kLooked));
  return starvation.TimeHad(kLooked);
}

TEST(Starvation, ReadyWithoutAProcessorIsNoTime) {
  if (!KernelCounts()) GTEST_SKIP() << "no /proc/PID/schedstat here";
  Children children(3, true);
  // A quarter of a processor is its share, or less where others run too.
  EXPECT_LT(TimeHadIn(Starvation(children.child())), 0.6 * kLooked);
}

TEST(Starvation, TimeAsleepIs) {
  if (!KernelCounts()) GTEST_SKIP() << "no /proc/PID/schedstat here";
  Children children(0, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_GT(TimeHadIn(Starvation(children.child())), 0.9 * kLooked);
}

TEST(Starvation, ThoseThatWaitForEachOtherRun) {
  if (!KernelCounts()) GTEST_SKIP() << "no /proc/PID/schedstat here";
  // Four children on one processor: together they have all of it that is not
  // somebody else's, which the wait of one does not hide.
  const Starvation all(getpid());
  Children children(3, true);
  const double had = TimeHadIn(all);
  EXPECT_GT(had, TimeHadIn(Starvation(children.child())));
}

TEST(Starvation, WhatIsGoneHadAllTime) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  EXPECT_EQ(Starvation(gone).TimeHad(3), 3);
}

}  // namespace
}  // namespace mlafuzz
