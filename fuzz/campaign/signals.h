#ifndef MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_

namespace mlafuzz {

// From here on SIGINT, SIGTERM and SIGHUP are counted instead of ending the
// process, so that a campaign ends with a report.
void CatchStopSignals();
// How many came. From the first one on nothing is waited for and nothing is
// begun: a campaign ends with what there is.
int StopSignals();

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_
