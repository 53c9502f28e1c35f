#ifndef MLAFUZZ_FUZZ_NIGHTLY_SHARES_H_
#define MLAFUZZ_FUZZ_NIGHTLY_SHARES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// What a work's units of one night brought in.
struct Yield {
  std::uint64_t units = 0;
  std::uint64_t cases = 0;  // run
  std::uint64_t checks = 0;
  std::uint64_t informative = 0;  // of these checks
  // Cases that were kept: each reached what its epoch had not.
  std::uint64_t kept = 0;
  // Value classes (corpus/knobs.h) that they exercise and no case of their
  // epoch does.
  std::uint64_t knobs = 0;
};

// How much one further case of a work is expected to pay: what was new for each
// case that ran, times the share of checks that could have told a right kernel
// from a wrong one. By the rule of succession: after n cases with k news, the
// next is one with probability (k + 1) / (n + 2). Of a work that has not run
// yet, 1/2; of one that could tell nothing, 0.
double ExpectedPay(const Yield& yield);

// Gives `units` out in proportion to what the next case of each work is
// expected to pay, in whole units by the largest remainders, of equals to the
// first. Where nothing pays, to all alike.
std::vector<std::uint64_t> ShareUnits(std::uint64_t units,
                                      const std::vector<Yield>& yields);

// A work as its units are keyed: targets as flags, and kernels.
struct WorkName {
  std::string targets;
  std::vector<std::string> kernels;
};

// What each work brought in on `night`, by the units of the state.
absl::StatusOr<std::vector<Yield>> YieldsOf(const State& state,
                                            std::uint64_t night,
                                            const std::vector<WorkName>& works);

// "0.012 new of a case, 61 % informative, 3 new value classes"
std::string YieldText(const Yield& yield);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_SHARES_H_
