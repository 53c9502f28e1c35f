#ifndef MLAFUZZ_PROPERTIES_COMBINED_EXECUTOR_H_
#define MLAFUZZ_PROPERTIES_COMBINED_EXECUTOR_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/executor.h"

namespace mlafuzz {

// One executor for several threads, each of which runs a few cases now and
// then, as relations do: when all that are at work wait for theirs, what they
// ask for runs as one batch.
class CombinedExecutor : public Executor {
 public:
  // Must outlive it, and is used by nobody else meanwhile.
  explicit CombinedExecutor(Executor& executor) : executor_(executor) {}

  // While it lives, its thread is at work. Run() and RunEach() are for such
  // threads alone.
  class Part {
   public:
    explicit Part(CombinedExecutor& all) : all_(all) { all_.Join(); }
    ~Part() { all_.Leave(); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    CombinedExecutor& all_;
  };

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override;
  absl::Status RunEach(const TargetSet& targets,
                       absl::Span<const CaseImage* const> images,
                       std::vector<Observation>* observations) override;
  // When no thread is at work.
  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executor_.executions();
  }

 private:
  struct Request {
    const TargetSet* targets;
    absl::Span<const CaseImage* const> images;
    std::vector<Observation>* observations;
    absl::Status status;
    bool done = false;
  };
  void Join();
  void Leave();
  // With the lock held: all that is asked for.
  void RunAll();

  Executor& executor_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t at_work_ = 0;
  std::vector<Request*> requests_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_COMBINED_EXECUTOR_H_
