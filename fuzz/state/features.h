#ifndef MLAFUZZ_FUZZ_STATE_FEATURES_H_
#define MLAFUZZ_FUZZ_STATE_FEATURES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// Features, libFuzzer's word for counters of an instrumented binary and how
// often each was hit, belong to that binary: they are measured when they are
// needed and never stored. Runs `cases` (canonical binaries) in this order and
// returns the numbers of those that reach a feature which none before them did.
// One that takes the engine with it is none of them. Of `options` engine,
// targets, kernels and limits count.
//
// Cancelled after a signal; Unavailable if the engine makes no headway.
absl::StatusOr<std::vector<std::size_t>> AddingFeatures(
    const CampaignOptions& options, const std::vector<std::string>& cases);

// What libFuzzer writes of a merge, as far as it came: how many files were
// begun, and the numbers of those that ended and of their features at least one
// is new. "FT FILE FEATURE..." lines list what is new to the process that wrote
// them.
struct MergeLog {
  std::size_t begun = 0;
  std::vector<std::size_t> adding;
};
MergeLog ParseMergeLog(const std::string& text, std::size_t files);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_FEATURES_H_
