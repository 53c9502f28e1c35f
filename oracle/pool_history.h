#ifndef MLAFUZZ_ORACLE_POOL_HISTORY_H_
#define MLAFUZZ_ORACLE_POOL_HISTORY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"

namespace mlafuzz::oracle {

// The pool as it was observed, step after step. Starts before step 0.
class PoolHistory {
 public:
  PoolHistory(const CaseImage& image, const Observation& observation);

  // The history before `step`, all earlier steps passed.
  static PoolHistory Before(const CaseImage& image,
                            const Observation& observation, int step);

  PoolHistory(PoolHistory&&) = default;

  // The pool before the next step; valid until the history is gone or moves on.
  absl::Span<const std::uint8_t> before() const { return before_; }
  // The pool as the next step left it: unchanged if none of the right size was
  // observed. A patch that was not observed counts as applied.
  absl::Span<const std::uint8_t> after() const { return after_; }
  // Whether the next step is a patch that left other bytes than it says.
  bool patch_lost() const { return patch_lost_; }

  void Advance();

 private:
  void Look();

  const CaseImage* image_;
  const Observation* observation_;
  std::size_t step_ = 0;
  absl::Span<const std::uint8_t> before_;
  absl::Span<const std::uint8_t> after_;
  bool patch_lost_ = false;
  // Pools after patches: [0] holds `after_`, [1] `before_`, where it applies.
  std::vector<std::uint8_t> patched_[2];
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_POOL_HISTORY_H_
