#ifndef MLAFUZZ_KERNELS_FOREIGN_ISOLATION_H_
#define MLAFUZZ_KERNELS_FOREIGN_ISOLATION_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/foreign/case_run.h"

namespace mlafuzz {

// Runs of cases in processes that may die of them.
class Attempts {
 public:
  virtual ~Attempts() = default;

  // Runs all of them together and overwrites their observations; those that
  // come after a death have none, or a part of one.
  virtual absl::StatusOr<std::optional<Casualty>> Run(
      absl::Span<const CaseRun> cases) = 0;

  // The next run has fresh processes; with SetPatience(), and until the next
  // one, they have `times` as long for a call.
  virtual void StartAfresh() = 0;
  virtual void SetPatience(double times) = 0;
  // Whether a run since took longer for a call than is allowed without.
  virtual bool Overran() const = 0;
};

// Runs all of `cases`, whatever some of them do to their process. Of each that
// kills it the observation is its own death:
//
//   - The case that a death is put down to is run alone in a fresh process,
//     three times. If it dies there, the others go on without it.
//   - Else the culprit is the last case without which those up to the dead one
//     live on, looked for by halving. If it does not die alone, it says so, and
//     the others go on in two halves.
//   - A single case that does not end in time is run once more with four times
//     the time: if it ends then, it is slow and no fault.
//   - Damage outside a case's tensors has all cases run alone, so that none
//     pays for its neighbour.
//
// Fails only as `attempts` does.
absl::Status RunIsolated(Attempts& attempts, std::vector<CaseRun> cases);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_ISOLATION_H_
