#ifndef MLAFUZZ_FUZZ_LEDGER_STATISTICS_H_
#define MLAFUZZ_FUZZ_LEDGER_STATISTICS_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace mlafuzz {

// Middle and spread of what several seeds took. A seed that found nothing took
// longer than any that did, by an unknown amount.
struct Spread {
  // The middle one, or the mean of the two in the middle; nothing where one of
  // those found nothing.
  std::optional<double> median;
  // Between these the median of the distribution lies with probability
  // `coverage` or more, whatever the distribution is (the order statistics at
  // equal distance from both ends, the nearest to the middle that cover 95 %).
  // Below six seeds nothing covers that much: then they are the least and the
  // most, and `coverage` says what is left. No `high`: found nothing.
  std::optional<double> low;
  std::optional<double> high;
  double coverage = 0;
};

// `found`: of the seeds that did; `missed`: how many did not.
Spread SpreadOf(std::vector<double> found, std::size_t missed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_LEDGER_STATISTICS_H_
