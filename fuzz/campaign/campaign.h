#ifndef MLAFUZZ_FUZZ_CAMPAIGN_CAMPAIGN_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_CAMPAIGN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fuzz/campaign/curve.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/lifecycle.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/totals.h"

namespace mlafuzz {

// What a campaign did and found.
struct CampaignResult {
  Totals totals;
  Curve curve;
  FindingSet findings;
  double seconds = 0;  // of fuzzing; minimising comes on top
  bool interrupted = false;
  // Why it ended before its time, so that nothing more can be said of what it
  // was to test: a library changed, a runner does not start. No findings are
  // lost.
  std::string error;
  // What its reader must know of how it went, a sentence each.
  std::vector<std::string> notes;
  int respawns = 0;    // workers that died and were started again
  int slow_cases = 0;  // took long, but ended when given more time
  // Why `corpus` in the output folder is not whole; empty: it is.
  std::string corpus_error;
  // What befell the campaign from outside, a sentence each: workers that were
  // killed. No findings.
  std::vector<std::string> incidents;
  // What the output folder knows of causes after it (by the caller).
  std::vector<KnownCause> known;
  // What was known before does not count.
  bool only_new = false;
};

// 0 nothing found but what is muted or was known, 1 a failure, 2 ended by an
// error, 3 nothing was informative or, of two targets, compared.
int ExitCode(const CampaignResult& result);

// Runs a campaign to its end:
//
//   1. start `jobs` workers on one shared corpus folder;
//   2. until time, cases, a signal or (if asked) the first finding: collect
//      what they record, announce each new cause at once, restart those that
//      die, judge deaths as crash, hang or out of memory, after a run alone
//      where somebody else may have killed the worker;
//   3. settle the cause of each finding by further cases, where several explain
//      what its own shows;
//   4. rerun each finding in fresh processes: one that does not fail each time
//      is flaky;
//   5. minimise each, keeping its cause;
//   6. look at what the smallest case of each leaves behind;
//   7. of a library's findings, make that call a program of its own;
//   8. write the cases. Reports are written by the caller.
//
// options.seconds bounds all of it: with findings, a quarter of it is kept for
// 3 to 5, and a tenth for 6 and 7. What goes past it is one call, or of kernels
// in this project's processes one case, up to its own limit. After a signal
// nothing is waited for.
//
// InvalidArgument or Unavailable if it cannot run at all.
absl::StatusOr<CampaignResult> RunCampaign(const CampaignOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_CAMPAIGN_H_
