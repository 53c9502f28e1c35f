#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_

#include <vector>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/progress.h"

namespace mlafuzz {

// Writes, of each finding that was observed, its call as files that need
// nothing of this project: of a library findings/ID/repro.cc and
// regression_test.cc, or repro.cu where it takes device memory; of a writer,
// gather or index conversion that is compiled in a repro.cu with the kernel in
// it. Each is
// built and run first (fuzz/campaign/reproducer/verify.h); one that does not
// show the bug is not written, but listed with the reason. Those that cannot be
// tried here, for want of a compiler or of time, are written and say so.
void MakeReproducers(const CampaignOptions& options,
                     std::vector<Finding>& findings, Progress& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCE_H_
