#ifndef MLAFUZZ_FUZZ_WORKER_STEP_CAUSE_H_
#define MLAFUZZ_FUZZ_WORKER_STEP_CAUSE_H_

#include <cstddef>
#include <vector>

#include "fuzz/worker/cause_filter.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// What the failures of one step of a case say that is not yet known.
struct StepCause {
  enum What {
    kKnown,    // `which` has a known cause
    kEarlier,  // laid to an earlier step's failure
    kRecord,   // `which` is to be recorded, for all
  };
  What what;
  std::size_t which = 0;
};

// One fault fails several checks of a step, each with an explanation of its
// own, some more telling than others. If one of them is known, the step is
// taken for that; else the most telling one speaks for all: one that says more
// of a known cause, or that names a contract field. What a fault leaves behind,
// in memory that no check sees, may spoil a later call of the same kernel
// (`later`): a later failure that no contract field explains is taken for the
// earlier one. `failures` must not be empty.
StepCause CauseOfStep(const std::vector<Failure>& failures, bool later,
                      const CauseFilter& filter);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_STEP_CAUSE_H_
