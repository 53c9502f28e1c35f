#ifndef MLAFUZZ_PROPERTIES_FUSED_TESTING_TWICE_H_
#define MLAFUZZ_PROPERTIES_FUSED_TESTING_TWICE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

struct TwiceCounts {
  std::size_t passed = 0;    // cases that the device passed, and the host
  std::size_t by_host = 0;   // that shared a call which the device did not pass
  std::size_t failed = 0;    // of these, by the host
  std::size_t not_made = 0;  // in calls that ended badly, or that were not made
};

// Random cases that call `kernel`, at least `cases` of them, share calls; what
// the device passes is judged by the host, too. An error where the two differ.
// After a few calls that end badly no more are made.
absl::Status JudgeFamiliesTwice(LentCalls& calls, const TargetSet& targets,
                                const Contracts& contracts, Kernel kernel,
                                std::size_t cases, std::uint64_t seed,
                                TwiceCounts* counts);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_TESTING_TWICE_H_
