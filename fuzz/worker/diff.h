#ifndef MLAFUZZ_FUZZ_WORKER_DIFF_H_
#define MLAFUZZ_FUZZ_WORKER_DIFF_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/ulps.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

struct DiffResult {
  CaseResult a;
  CaseResult b;
  // Of decodes that both sides took: outputs, then LSE.
  std::array<UlpCounts, 2> decodes;
  // Key empty: bitwise equal, or as asked. Else the first difference: property
  // "difference", and as cause what the oracle says of either side.
  Failure failure;
};

// Two targets against each other: status, pool and outputs of every step, bit
// for bit. Each runs the whole program alone, so a later step may differ
// because an earlier one did; the first one is reported.
class DiffPair {
 public:
  static absl::StatusOr<std::unique_ptr<DiffPair>> Create(const Targets& a,
                                                          const Targets& b);
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
  std::unique_ptr<Session> a_;
  std::unique_ptr<Session> b_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_DIFF_H_
