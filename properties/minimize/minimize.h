#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_MINIMIZE_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_MINIMIZE_H_

#include <cstdint>
#include <functional>

#include "corpus/case.pb.h"

namespace mlafuzz {

struct MinimizeProgress {
  std::uint64_t tries = 0;
  std::uint64_t since_success = 0;
  std::uint64_t bytes = 0;  // canonical size of the best case so far
};

struct MinimizeOptions {
  std::uint64_t max_tries = 5000;
  double max_seconds = 20;
};

// The smallest case found that `still_fails` accepts (same cause: the caller's
// test), starting from `c`, which it must accept. Deterministic. Drops steps,
// tokens, requests, rows, indices; shrinks pages, strides, offsets; replaces
// generated values by zero, then by the few literal ones that matter; plain
// schedule and poison. A second run makes no progress.
Case Minimize(const Case& c, const MinimizeOptions& options,
              const std::function<bool(const Case&)>& still_fails,
              const std::function<void(const MinimizeProgress&)>& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_MINIMIZE_H_
