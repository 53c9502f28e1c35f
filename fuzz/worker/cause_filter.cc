#include "fuzz/worker/cause_filter.h"

#include <algorithm>

namespace mlafuzz {

bool CauseFilter::ShouldDiagnose(Kernel kernel, absl::string_view property) {
  Place& place = At(kernel, property);
  return place.failures++ >= place.next;
}

bool CauseFilter::IsNew(Kernel kernel, absl::string_view property,
                        const CauseKeys& keys) {
  Place& place = At(kernel, property);
  const bool is_new = known_.Learn(keys).match != KnownCauses::Match::kKnown;
  if (is_new) {
    place.distance = 1;
  } else if (place.failures > kEager) {
    place.distance = std::min(2 * place.distance, kLongest);
  }
  place.next = place.failures - 1 + place.distance;
  return is_new;
}

}  // namespace mlafuzz
