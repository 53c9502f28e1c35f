#ifndef MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_

namespace mlafuzz {

// From here on SIGINT, SIGTERM and SIGHUP are counted instead of ending the
// process, so that a campaign ends with a report.
void CatchStopSignals();
// How many came. One: end with what there is. More: at once.
int StopSignals();

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_SIGNALS_H_
