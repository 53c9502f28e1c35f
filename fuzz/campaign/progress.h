#ifndef MLAFUZZ_FUZZ_CAMPAIGN_PROGRESS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_PROGRESS_H_

#include <cstdint>
#include <string>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/totals.h"

namespace mlafuzz {

// What a user sees while a campaign runs: on a terminal one line, refreshed;
// else a plain line every five seconds. Findings are lines of their own, at
// once, each once.
class Progress {
 public:
  explicit Progress(const CampaignOptions& options);

  void Show(double seconds, const Totals& totals, const FindingSet& findings);
  void Finish(double seconds, const Totals& totals, const FindingSet& findings);
  void Announce(const Finding& finding);
  // One that was announced as `id` has turned out to be `into`: its folder,
  // and the command that was printed with it, are no more.
  void Joined(const std::string& id, const Finding& into);
  void FollowUp(const Finding& finding, const char* what);
  void FollowUpDone() { ClearLine(); }

 private:
  void ClearLine();
  const CampaignOptions& options_;
  bool terminal_;
  double next_ = 0;     // seconds at which to show again
  double last_at_ = 0;  // and what was shown then
  std::uint64_t last_cases_ = 0;
};

// "12.3 s  4,210 cases  2,105/s  cov 311  pass 9,120 fail 3  1 finding  47 s
// left".
std::string ProgressLine(const CampaignOptions& options, double seconds,
                         double cases_per_second, const Totals& totals,
                         std::size_t findings);

// 1234567 -> "1,234,567".
std::string Grouped(std::uint64_t n);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_PROGRESS_H_
