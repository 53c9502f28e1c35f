#include "kernels/foreign/executor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/foreign/case_run.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/isolation.h"
#include "kernels/foreign/joint_run.h"
#include "kernels/foreign/runners.h"
#include "kernels/guarded_memory.h"
#include "kernels/staging.h"

namespace mlafuzz {
namespace {

// Staged bytes of one batch, redzones apart; the arena holds several times it.
constexpr std::int64_t kBatchBytes = std::int64_t{256} << 20;

// Most bytes of a case that are staged at once.
std::int64_t BytesOf(const CaseImage& image) {
  std::size_t largest_step = 0;
  for (const StepImage& step : image.steps) {
    std::size_t bytes = 0;
    for (const Tensor& tensor : step.tensors) bytes += tensor.bytes.size();
    largest_step = std::max(largest_step, bytes);
  }
  return static_cast<std::int64_t>(image.pool.bytes.size() + largest_step);
}

bool AnySanitizer(const TargetSet& targets) {
  return std::any_of(targets.targets.begin(), targets.targets.end(),
                     [](const std::shared_ptr<Target>& target) {
                       return target != nullptr &&
                              target->foreign() != nullptr &&
                              !target->foreign()->program().sanitizer.empty();
                     });
}

// Runs of cases in the runners of their targets.
class InRunners : public Attempts {
 public:
  explicit InRunners(const RunPlace& place) : place_(place) {}

  absl::StatusOr<std::optional<Casualty>> Run(
      absl::Span<const CaseRun> cases) override {
    return RunTogether(place_, cases);
  }
  void StartAfresh() override { place_.runners.EndAll(); }
  void SetPatience(double times) override { place_.runners.SetPatience(times); }
  bool Overran() const override { return place_.runners.Overran(); }

 private:
  const RunPlace& place_;
};

class Processes : public ForeignExecutor {
 public:
  Processes()
      : arena_(kPatternSeed, GuardedArena::Backing::kShared),
        runners_(arena_) {}

  absl::Status Run(const TargetSet& targets, absl::Span<const CaseImage> images,
                   std::vector<Observation>* observations) override {
    std::vector<const CaseImage*> each;
    each.reserve(images.size());
    for (const CaseImage& image : images) each.push_back(&image);
    return RunEach(targets, each, observations);
  }

  absl::Status RunEach(const TargetSet& targets,
                       absl::Span<const CaseImage* const> images,
                       std::vector<Observation>* observations) override {
    observations->assign(images.size(), {});
    const RunPlace place = {targets, arena_, runners_, executions_};
    InRunners attempts(place);
    // A sanitizer's reports are put down to the only call of a runner.
    const std::size_t largest = AnySanitizer(targets) ? 1 : kLargestBatch;
    for (std::size_t at = 0; at < images.size();) {
      std::vector<CaseRun> batch;
      std::int64_t bytes = 0;
      while (at < images.size() && batch.size() < largest) {
        const std::int64_t more = BytesOf(*images[at]);
        if (!batch.empty() && bytes + more > kBatchBytes) break;
        bytes += more;
        batch.push_back({images[at], &(*observations)[at]});
        ++at;
      }
      if (absl::Status s = RunIsolated(attempts, std::move(batch)); !s.ok()) {
        return s;
      }
    }
    return absl::OkStatus();
  }

  const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const override {
    return executions_;
  }
  RunnerCounts counts() const override { return runners_.counts(); }

  void Lend(const LentMemory& memory, int device) override {
    runners_.Lend(memory, device);
  }

  absl::Status CallLent(const TargetSet& targets,
                        absl::Span<const LentCall> calls,
                        std::vector<CallEnd>* ends) override {
    absl::Status made = MakeLentCalls(targets, calls, arena_, runners_, ends);
    if (!made.ok()) return made;
    for (const LentCall& call : calls) {
      const Kernel kernel = call.image->steps[call.step].kernel;
      ++executions_[static_cast<std::size_t>(kernel)];
    }
    return made;
  }

 private:
  GuardedArena arena_;
  Runners runners_;  // end before the arena does
  std::array<std::uint64_t, kAllKernels.size()> executions_{};
};

}  // namespace

std::unique_ptr<ForeignExecutor> MakeForeignExecutor() {
  return std::make_unique<Processes>();
}

std::unique_ptr<Executor> MakeExecutor(const TargetSet& targets) {
  for (const std::shared_ptr<Target>& target : targets.targets) {
    if (target != nullptr && target->foreign() != nullptr) {
      return MakeForeignExecutor();
    }
  }
  return MakeHostExecutor();
}

}  // namespace mlafuzz
