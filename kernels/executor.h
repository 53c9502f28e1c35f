#ifndef MLAFUZZ_KERNELS_EXECUTOR_H_
#define MLAFUZZ_KERNELS_EXECUTOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Runs cases against targets. Stages every tensor of a case in guarded memory
// (redzones before and after, poisoned for ASan and filled with a pattern that
// is compared afterwards), makes the calls in program order on one pool, and
// reports what each left behind. Takes many cases, so that batching is this
// class's business alone: N cases at once observe what N single ones do.
class Executor {
 public:
  virtual ~Executor() = default;

  // One Observation for each image. Non-OK only when the executor itself
  // cannot go on (no memory for the stage); whatever a target does is data.
  virtual absl::Status Run(const TargetSet& targets,
                           absl::Span<const CaseImage> images,
                           std::vector<Observation>* observations) = 0;
  // The same of images that lie apart.
  virtual absl::Status RunEach(const TargetSet& targets,
                               absl::Span<const CaseImage* const> images,
                               std::vector<Observation>* observations) {
    std::vector<CaseImage> together;
    together.reserve(images.size());
    for (const CaseImage* image : images) together.push_back(*image);
    return Run(targets, together, observations);
  }

  // Calls made so far, a count per kernel: reruns for relations included.
  virtual const std::array<std::uint64_t, kAllKernels.size()>& executions()
      const = 0;
};

// The host backend: in this process, lanes as fibers.
std::unique_ptr<Executor> MakeHostExecutor();

// Convenience: builds the images, then runs. InvalidArgument for a case that
// has no meaning, naming its place in the span.
absl::Status RunCases(Executor& executor, const TargetSet& targets,
                      absl::Span<const Case> cases,
                      std::vector<Observation>* observations);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_EXECUTOR_H_
