#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_

#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"

namespace mlafuzz {

// Writes, of each finding of a library that was observed, its call as files
// that need nothing of this project: findings/ID/repro.cc and
// regression_test.cc, or repro.cu where the kernel takes device memory. Each is
// built and run first (fuzz/campaign/reproducer/verify.h); one that does not
// show the bug is not written, but listed with the reason. Those that cannot be
// tried here, for want of a compiler or of time, are written and say so.
//
// Kernels that are compiled into this project have none: replay is theirs.
void MakeReproducers(const CampaignOptions& options,
                     std::vector<Finding>& findings, Progress& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_
