#include "properties/ledger/differential_reach.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

bool SameStrays(const std::vector<Stray>& a, const std::vector<Stray>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Stray& x, const Stray& y) {
                      return x.tensor == y.tensor && x.first == y.first &&
                             x.last == y.last && x.count == y.count;
                    });
}

bool SameBytes(const StepObservation& a, const StepObservation& b) {
  return a.status == b.status && a.pool == b.pool && a.outputs == b.outputs &&
         SameStrays(a.strays, b.strays);
}

absl::StatusOr<Observation> RunOn(const std::string& target,
                                  const CaseImage& image, Executor& executor) {
  absl::StatusOr<TargetSet> targets = MakeTargetSet(target);
  if (!targets.ok()) return targets.status();
  std::vector<Observation> observations;
  if (absl::Status s = executor.Run(*targets, {&image, 1}, &observations);
      !s.ok()) {
    return s;
  }
  return std::move(observations.at(0));
}

}  // namespace

Reach ReachByDifference(const LedgerEntry& entry, const CaseImage& image,
                        const Observation& right, const Observation& wrong) {
  Reach reach;
  for (std::size_t i = 0; i < image.steps.size(); ++i) {
    // Where one of them crashed, nothing ran after it.
    if (i >= right.steps.size() || i >= wrong.steps.size()) break;
    const StepObservation& r = right.steps[i];
    const StepObservation& w = wrong.steps[i];
    const bool theirs = !image.steps[i].is_patch &&
                        std::count(entry.kernels.begin(), entry.kernels.end(),
                                   image.steps[i].kernel) > 0;
    const bool same = SameBytes(r, w);
    if (theirs) {
      reach.reached |=
          r.status == CallStatus::kOk || w.status != CallStatus::kRefused;
      reach.triggered |= !same;
      reach.foreign |= !w.reports.empty();
    }
    // From here on the two start from different pools.
    if (!same) break;
  }
  return reach;
}

absl::StatusOr<Reach> DifferentialReach(const LedgerEntry& entry,
                                        const CaseImage& image, Executor& right,
                                        Executor& wrong) {
  absl::StatusOr<Observation> builtin = RunOn(entry.right, image, right);
  if (!builtin.ok()) return builtin.status();
  absl::StatusOr<Observation> twin = RunOn(entry.target, image, wrong);
  if (!twin.ok()) return twin.status();
  return ReachByDifference(entry, image, *builtin, *twin);
}

}  // namespace mlafuzz
