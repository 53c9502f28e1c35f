#ifndef MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_
#define MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "corpus/image.h"
#include "fuzz/worker/known_causes.h"

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
  // Reports its result; false if it says nothing new of any cause.
  bool IsNew(Kernel kernel, absl::string_view property, const CauseKeys& keys);
  KnownCauses::Match Find(const CauseKeys& keys) const {
    return known_.Find(keys).match;
  }
  // A cause that another process found.
  void AddKnown(const std::string& cause) { known_.Learn({cause}); }

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
  KnownCauses known_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_CAUSE_FILTER_H_
