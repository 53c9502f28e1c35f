#include "fuzz/ledger/statistics.h"

#include <algorithm>
#include <cmath>

namespace mlafuzz {
namespace {

constexpr double kWanted = 0.95;

// Chance that the median lies between the k-th lowest and the k-th highest of n
// draws (k from 0): that neither k or fewer lie below it, nor above.
double Coverage(std::size_t n, std::size_t k) {
  double term = std::pow(0.5, static_cast<double>(n));  // C(n, 0) / 2^n
  double tail = term;
  for (std::size_t i = 1; i <= k; ++i) {
    term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
    tail += term;
  }
  return std::max(0.0, 1 - 2 * tail);
}

}  // namespace

Spread SpreadOf(std::vector<double> found, std::size_t missed) {
  Spread spread;
  const std::size_t n = found.size() + missed;
  if (n == 0) return spread;
  std::sort(found.begin(), found.end());
  const auto at = [&](std::size_t i) {
    return i < found.size() ? std::optional<double>(found[i]) : std::nullopt;
  };
  const auto upper = at(n / 2);
  const auto lower = at((n - 1) / 2);
  if (upper.has_value()) spread.median = (*lower + *upper) / 2;
  std::size_t k = 0;
  while (2 * (k + 1) < n && Coverage(n, k + 1) >= kWanted) ++k;
  spread.low = at(k);
  spread.high = at(n - 1 - k);
  spread.coverage = Coverage(n, k);
  return spread;
}

}  // namespace mlafuzz
