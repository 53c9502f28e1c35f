#ifndef MLAFUZZ_FUZZ_WORKER_SETTLE_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_SETTLE_MODE_H_

#include "absl/status/status.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// SETTLE: one case rarely tells neighbouring causes apart, so further cases are
// made for the contract fields among them and out of the finding's own case,
// until one cause explains all that fail (fuzz/worker/settlement.h). Every case
// follows from the request's seed and what the target did before; no more than
// kMostSettlingCases of them, nor longer than the request allows.
//
// Writes out/settle.result (SettleResult) after every case, so that one which
// kills the process takes only the rest with it.
inline constexpr int kMostSettlingCases = 240;

absl::Status SettleCause(const WorkRequest& request, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SETTLE_MODE_H_
