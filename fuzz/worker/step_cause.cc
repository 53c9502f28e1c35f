#include "fuzz/worker/step_cause.h"

#include <algorithm>

namespace mlafuzz {

StepCause CauseOfStep(const std::vector<Failure>& failures, bool later,
                      const CauseFilter& filter) {
  const auto first = [&](auto wanted) {
    return static_cast<std::size_t>(
        std::find_if(failures.begin(), failures.end(), wanted) -
        failures.begin());
  };
  const auto matching = [&](KnownCauses::Match match) {
    return first(
        [&](const Failure& f) { return filter.Find(KeysOf(f)) == match; });
  };
  const std::size_t none = failures.size();
  if (const std::size_t known = matching(KnownCauses::Match::kKnown);
      known != none) {
    return {StepCause::kKnown, known};
  }
  if (const std::size_t narrower = matching(KnownCauses::Match::kNarrower);
      narrower != none) {
    return {StepCause::kRecord, narrower};
  }
  const std::size_t field =
      first([](const Failure& f) { return !f.field().empty(); });
  if (field != none) return {StepCause::kRecord, field};
  return {later ? StepCause::kEarlier : StepCause::kRecord};
}

}  // namespace mlafuzz
