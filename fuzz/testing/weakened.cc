// An engine whose judge is weakened on purpose, in the way that the environment
// variable MLAFUZZ_WEAKENED names:
//
//   all-pass       every check passes
//   no:PROPERTY    checks of this property pass
//   no-tails       what is beyond the rope, or in its place, passes
//   bounds-x1000   decodes pass within a thousand times their bounds; the
//                  relations, which rest on the bounds too, pass
//
// Without the variable, or with another value, it ends at once: a weakening
// that is not there must not look like one that nobody notices.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/pool_history.h"
#include "oracle/verdict.h"
#include "properties/check_filter.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

constexpr double kWiderBounds = 1000;

std::string Weakening() {
  const char* name = std::getenv("MLAFUZZ_WEAKENED");
  return name != nullptr ? name : "";
}

// Within bounds that are so much wider.
bool PassesWide(const Contracts& contracts, const CaseImage& image,
                const Observation& observation, int step) {
  oracle::PoolHistory history(image, observation);
  for (int i = 0; i < step; ++i) history.Advance();
  const auto s = static_cast<std::size_t>(step);
  DecodeExpectation expected =
      ExpectDecode(*contracts[static_cast<std::size_t>(Kernel::kDecode)], image,
                   step, history.before());
  for (double& bound : expected.out_bound) bound *= kWiderBounds;
  for (double& bound : expected.lse_bound) bound *= kWiderBounds;
  const oracle::ObservedRows rows(image.steps[s], observation.steps[s]);
  if (!rows.well_formed()) return false;
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    if (!rows.RowMatches(expected, row)) return false;
  }
  return true;
}

bool Overlooked(const std::string& weakening, const Contracts& contracts,
                const CaseImage& image, const Observation& observation,
                const Check& check) {
  if (weakening == "all-pass") return true;
  absl::string_view name = weakening;
  if (absl::StartsWith(name, "no:")) return check.property == name.substr(3);
  if (weakening == "no-tails") {
    return check.property == property::kNopeTail ||
           check.property == property::kGatherTail ||
           check.property == "nope-tail-through-gather";
  }
  if (check.kernel != Kernel::kDecode) return false;
  if (IsRelation(check.property)) return true;
  return (check.property == property::kDecodeOut ||
          check.property == property::kDecodeLse) &&
         PassesWide(contracts, image, observation, check.step);
}

void Weaken(const Contracts& contracts, const CaseImage& image,
            const Observation& observation, std::vector<Check>* checks) {
  static const std::string* const kWeakening = new std::string(Weakening());
  for (Check& check : *checks) {
    if (IsFailure(check.verdict) &&
        Overlooked(*kWeakening, contracts, image, observation, check)) {
      check.verdict = Verdict::kPass;
      check.detail.clear();
    }
  }
}

[[maybe_unused]] const bool kWeakened = [] {
  const std::string name = Weakening();
  if (name != "all-pass" && name != "no-tails" && name != "bounds-x1000" &&
      !absl::StartsWith(name, "no:")) {
    std::fprintf(stderr, "mlafuzz-worker: MLAFUZZ_WEAKENED is \"%s\"\n",
                 name.c_str());
    std::_Exit(1);
  }
  SetCheckFilter(Weaken);
  return true;
}();

}  // namespace
}  // namespace mlafuzz
