#ifndef MLAFUZZ_FUZZ_WORKER_REACH_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_REACH_MODE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// REACH: what a campaign that found nothing did with a wrong kernel, measured
// by its own cases (request.case_log) instead of by what the oracle makes of
// them:
//
//   reached    a case that was sent calls a wrong kernel (request.kernels) with
//              a valid or boundary call;
//   triggered  the wrong target leaves other bytes behind than its right twin,
//              or ends a call in another way, on the same case, memory and lane
//              schedule.
//
// Up to the first case of each log that triggers. Writes
// request.out/reach.result (ReachResult) as it goes; a case that kills the
// process has triggered.
absl::Status MeasureReach(const WorkRequest& request, WorkerStatus& status);

// The right targets that promise what `wrong` does: for each of `kernels`, the
// first of builtin, builtin:... with the same contract; builtin where none has;
// for all other kernels what `wrong` has where that is right, else builtin.
absl::StatusOr<TargetSet> RightTwin(const TargetSet& wrong,
                                    const std::vector<Kernel>& kernels);

// Whether two runs of one case left the same behind: how each call ended, the
// pool, the outputs, what was changed astray. Words are no difference.
bool LeftTheSame(const Observation& a, const Observation& b);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_REACH_MODE_H_
