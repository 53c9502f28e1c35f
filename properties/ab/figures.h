#ifndef MLAFUZZ_PROPERTIES_AB_FIGURES_H_
#define MLAFUZZ_PROPERTIES_AB_FIGURES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/ab/cache.h"

namespace mlafuzz {

// What the cache's writer meant: K = V = fp32(code * scale), q and rope as they
// are stored (bf16), and from there on fp64. Nothing else is rounded: no query,
// no weight, no partial, no output.
struct AbReference {
  std::vector<double> out;  // [heads, 512]
  std::vector<double> lse;  // [heads], natural
};
AbReference MakeAbReference(const AbCache& cache);

// A decode against the reference, over all outputs. An output that is not
// finite makes them NaN.
struct AbFigures {
  double relative_l2 = 0;  // |out - reference| / |reference|
  double cosine = 0;
  double lse_error = 0;  // largest difference, natural units
};

// Runs the targets' decode on the cache. An error if the decode does not take
// the call, dies in it or writes where it has no business.
absl::StatusOr<AbFigures> MeasureDecode(const AbCache& cache,
                                        const AbReference& reference,
                                        const TargetSet& targets,
                                        Executor& executor);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_AB_FIGURES_H_
