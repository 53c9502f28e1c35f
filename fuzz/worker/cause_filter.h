#ifndef MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_
#define MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "corpus/image.h"

namespace mlafuzz {

// Mutes known causes. Finding a cause takes tens of runs of the oracle, far
// longer than a case, and a shallow bug fails every second case. So, for each
// (kernel, property):
//
//   1. the first kEager failures are all diagnosed;
//   2. a diagnosis that gives a known cause doubles the distance to the next
//      one, up to kLongest (a prime, so as not to beat with a pattern in the
//      cases); a new cause resets it.
//
// A second bug behind the same property is therefore seen within kLongest of
// its failures at the latest (in expectation), and one behind another property
// at once.
class CauseFilter {
 public:
  static constexpr std::uint64_t kEager = 16;
  static constexpr std::uint64_t kLongest = 61;

  // Whether this failure is worth a diagnosis.
  bool ShouldDiagnose(Kernel kernel, absl::string_view property);
  // Reports its result; true if the cause is new.
  bool IsNew(Kernel kernel, absl::string_view property,
             absl::string_view cause);
  bool IsKnown(absl::string_view cause) const { return known_.contains(cause); }
  // A cause that another process found.
  void AddKnown(absl::string_view cause) { known_.insert(std::string(cause)); }

 private:
  struct Place {
    std::uint64_t failures = 0;
    std::uint64_t distance = 1;
    std::uint64_t next = 0;
  };
  Place& At(Kernel kernel, absl::string_view property) {
    return places_[{static_cast<int>(kernel), std::string(property)}];
  }

  absl::flat_hash_map<std::pair<int, std::string>, Place> places_;
  absl::flat_hash_set<std::string> known_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_
