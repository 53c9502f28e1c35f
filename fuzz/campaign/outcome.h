#ifndef MLAFUZZ_FUZZ_CAMPAIGN_OUTCOME_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_OUTCOME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// What the run of a case that once failed by a cause says of that cause.
enum class Outcome {
  kPasses,          // the kernel was judged, and no check failed
  kFails,           // by that cause
  kFailsOtherwise,  // by others alone: of that cause it says nothing
};

// Whether a call of one of `kernels` was judged. Unspecified calls, as those on
// pools of a layout that the kernel does not take, and skipped ones were not.
bool Judged(const CaseRun& run, const std::vector<std::string>& kernels);

// Of the first call that was not judged: "step 0, gather unspecified:
// gather.lengths: ...", with the contract field that leaves it open. Empty
// where all were.
std::string WhyNotJudged(const CaseRun& run);

// Of the cause `key` of `kernel`; an empty kernel is any (a case's process died
// before it was known which). FailedPrecondition where nothing of the kernel
// was judged, so that the run says nothing, with the reason; Unavailable where
// the case could not be run.
absl::StatusOr<Outcome> OutcomeOf(const CaseRun& run, const std::string& key,
                                  const std::string& kernel);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_OUTCOME_H_
