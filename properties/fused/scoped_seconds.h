#ifndef MLAFUZZ_PROPERTIES_FUSED_SCOPED_SECONDS_H_
#define MLAFUZZ_PROPERTIES_FUSED_SCOPED_SECONDS_H_

#include <chrono>

namespace mlafuzz {

// Adds the seconds until its end.
class ScopedSeconds {
 public:
  explicit ScopedSeconds(double& seconds) : seconds_(seconds) {}
  ~ScopedSeconds() {
    seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  ScopedSeconds(const ScopedSeconds&) = delete;
  ScopedSeconds& operator=(const ScopedSeconds&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_SCOPED_SECONDS_H_
