#ifndef MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_
#define MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "properties/checker.h"

namespace mlafuzz {

// Coverage for targets that are not instrumented, such as foreign libraries:
// what a case was like and how it ended, as libFuzzer's extra counters. Counts
// of cases that were checked
//
//   - pairs of the value classes (corpus/knobs.h) that it exercised: scale
//     exponents, masks, widths, page geometry, lengths at dispatch thresholds;
//   - how each kernel's call ended, refusals among them;
//   - which properties had something to say, and their verdicts;
//   - how much of its bound the error of a decode's LSE took (BoundBucket).
//
// In this process alone: the target's cannot reach libFuzzer's. Saturates at
// 255, so that counts may be added up in any order.
class SemanticCounts {
 public:
  // libFuzzer scans all of them after each input.
  static constexpr std::size_t kCounters = 4096;

  // `knobs`: ExercisedKnobs() of the case.
  void Add(const CaseResult& result, const std::vector<int>& knobs);
  void Add(const SemanticCounts& other);
  // Adds them to libFuzzer's, which it clears before each input; on its thread.
  void Show() const;

  const std::array<std::uint8_t, kCounters>& counts() const { return counts_; }

 private:
  void Count(std::size_t at);
  std::array<std::uint8_t, kCounters> counts_ = {};
};

// Check::of_bound by powers of two: 0 for up to 2^-8 and for none, 8 for the
// last half of the bound, 9 for beyond it.
int BoundBucket(double of_bound);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_SEMANTIC_COUNTERS_H_
