#ifndef MLAFUZZ_FUZZ_WORKER_DIFF_H_
#define MLAFUZZ_FUZZ_WORKER_DIFF_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/ulps.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

struct DiffResult {
  CaseResult a;
  CaseResult b;
  // Of decodes that both sides took: outputs, then LSE.
  std::array<UlpCounts, 2> decodes;
  // Calls that both sides answered and that were compared, the one that differs
  // included.
  int compared = 0;
  // What was not compared and why, a sentence each, which begins with the side
  // that did not take it: "b does not take the case: step 0, gather:
  // gather.layout: ...".
  std::vector<std::string> not_compared;
  // Of a, of b: the first of these sentences; empty where it took all.
  std::array<std::string, 2> not_taken;
  // Key empty: no call that was compared differs, or only as asked; without
  // `compared` that says nothing. Else the first difference: property
  // "difference", and as cause what the oracle says of either side.
  Failure failure;
};

// Two targets against each other: status, pool and outputs of every step, bit
// for bit. Each runs the whole program alone, so a later step may differ
// because an earlier one did; the first one is reported.
class DiffPair {
 public:
  // `kernels`, "writer", ...: those that are compared; empty: all. A kernel
  // that is not is a's on both sides, so that the others are asked about the
  // same bytes: where either has one, and both are of one layout and on one
  // device.
  static absl::StatusOr<std::unique_ptr<DiffPair>> Create(
      const Targets& a, const Targets& b,
      const std::vector<std::string>& kernels = {});
  struct Options {
    bool with_oracle = true;  // say who is right
    // Decodes may differ as far as the oracle passes both.
    bool within_bounds = false;
  };
  // InvalidArgument if the case does not build.
  absl::StatusOr<DiffResult> Compare(const Case& c, const Options& options);

  Session& a() { return *a_; }
  Session& b() { return *b_; }

  // Of both.
  std::array<std::uint64_t, kAllKernels.size()> executions() const;

 private:
  DiffPair() = default;
  bool IsCompared(Kernel kernel) const {
    return compared_[static_cast<std::size_t>(kernel)];
  }

  std::array<bool, kAllKernels.size()> compared_{};
  std::unique_ptr<Session> a_;
  std::unique_ptr<Session> b_;
};

// Adds one comparison's cases that were compared and those that were not to a
// campaign's counts.
void CountComparison(const DiffResult& result, WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_DIFF_H_
