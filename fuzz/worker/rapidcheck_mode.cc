#include "fuzz/worker/rapidcheck_mode.h"

#include "corpus/codec.h"
#include "properties/rapidcheck/sized_case.h"
#include "rapidcheck.h"

namespace mlafuzz {
namespace {

// RapidCheck keeps something of every case of a check, so a campaign is several
// of them. In each, sizes go from 0 to the largest a hundred times.
constexpr int kCasesPerCheck = 100 * 101;

}  // namespace

void FuzzWithRapidCheck(std::uint64_t seed, FuzzMode& fuzz) {
  const auto over = [&fuzz] { return fuzz.ShouldStop() || !fuzz.error().ok(); };
  const rc::Gen<Case> cases = SizedCase(fuzz.generator());
  rc::detail::TestParams params;
  params.maxSuccess = kCasesPerCheck;
  params.disableShrinking = true;
  for (params.seed = seed; !over(); ++params.seed) {
    rc::detail::checkTestable(
        [&] {
          if (over()) RC_FAIL("the campaign is over");
          fuzz.OneInput(CanonicalBinary(*cases));
        },
        rc::detail::TestMetadata(), params);
  }
}

}  // namespace mlafuzz
