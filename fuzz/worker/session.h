#ifndef MLAFUZZ_FUZZ_WORKER_SESSION_H_
#define MLAFUZZ_FUZZ_WORKER_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "corpus/case.pb.h"
#include "fuzz/worker/worker.pb.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/generate.h"

namespace mlafuzz {

// A process' targets and what checks cases against them.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      const Targets& targets);

  // All relations of about one case in eight, drawn from the case itself, so
  // that a case that failed once fails the same way in every replay.
  static CheckOptions CampaignOptions(const Case& c);
  // Every relation that applies, drawn from the case.
  static CheckOptions ReplayOptions(const Case& c);

  CaseChecker& checker() { return checker_; }
  const TargetSet& targets() const { return targets_; }
  Executor& executor() { return *executor_; }
  // Kernel calls so far, reruns included.
  std::array<std::uint64_t, kAllKernels.size()> executions() const {
    return executor_->executions();
  }

 private:
  Session(TargetSet targets, std::unique_ptr<Executor> executor)
      : targets_(std::move(targets)),
        executor_(std::move(executor)),
        checker_(targets_, *executor_) {}

  TargetSet targets_;
  std::unique_ptr<Executor> executor_;
  CaseChecker checker_;
};

// The targets of a request; further ones from test binaries (AddTargetMaker).
absl::StatusOr<TargetSet> MakeTargets(const Targets& targets);

// Lets a test binary add targets by name: returns null for a name that it does
// not know.
using TargetMaker = std::shared_ptr<Target> (*)(absl::string_view name);
void AddTargetMaker(TargetMaker maker);

// A mutant's own kernels; "builtin" and those that replace none: all. For
// several targets, the union.
std::vector<Kernel> KernelsUnderTest(const Targets& targets);

// Which kernels generated cases call, on pools of which layout.
GeneratorOptions GeneratorFor(absl::Span<const std::string> kernels,
                              Layout layout = FP8_DS_MLA);

// For these targets: pools of their layout, and what their kernels take that
// most do not.
GeneratorOptions GeneratorFor(absl::Span<const std::string> kernels,
                              const TargetSet& targets,
                              absl::Span<const Kernel> tested);

// Of the pools that the targets of these kernels take: the first's that has
// any. Index conversion has none.
Layout LayoutOf(const TargetSet& targets, absl::Span<const Kernel> kernels);

// The first target of this project that takes pools of the layout.
std::string BuiltinFor(Layout layout);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SESSION_H_
