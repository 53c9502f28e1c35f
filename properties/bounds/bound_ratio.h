#ifndef MLAFUZZ_PROPERTIES_BOUNDS_BOUND_RATIO_H_
#define MLAFUZZ_PROPERTIES_BOUNDS_BOUND_RATIO_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "corpus/case.pb.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// How far what a kernel returned lies from the oracle's values, in bounds: the
// largest over all elements. Above 1 the kernel is flagged.
struct BoundRatio {
  double out = 0;  // distance to the nearest number that rounds to the word
  double lse = 0;
  std::int64_t open = 0;  // elements without a finite positive bound: no say
};

// Of a case whose first step is a decode that `targets` takes. InvalidArgument
// for one that does not build; FailedPrecondition where the call did not end
// well.
absl::StatusOr<BoundRatio> MeasureBoundRatio(const TargetSet& targets,
                                             Executor& executor, const Case& c);

// Distance from `value` to the nearest number that rounds to the bf16 `bits`,
// ties included: 0 if it does itself. Both finite.
double DistanceToWord(double value, std::uint16_t bits);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_BOUNDS_BOUND_RATIO_H_
