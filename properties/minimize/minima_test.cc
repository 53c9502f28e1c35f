// How well cases are minimised: of wrong twins of which it is known how small a
// failing case can be.
#include "properties/minimize/testing/minima.h"

#include <chrono>
#include <cstddef>
#include <set>
#include <string>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/ledger/ledger.h"
#include "properties/minimize/testing/failing.h"
#include "properties/minimize/testing/twin.h"

namespace mlafuzz {
namespace {

// What a minimiser may take.
constexpr std::uint64_t kProbes = 500;
constexpr double kSeconds = 30;

class KnownMinimumOf : public testing::TestWithParam<KnownMinimum> {};

// Exactly the minimum, from a rich case, within the budget (that nothing
// plainer is left may take longer to see); a second run makes no progress, and
// the cause is the same all the way.
TEST_P(KnownMinimumOf, IsReached) {
  const KnownMinimum& want = GetParam();
  const LedgerEntry* entry = FindInLedger(want.target);
  ASSERT_NE(entry, nullptr) << want.target;
  Twin twin(want.target);
  const Failing failing = FailureOf(*entry, twin);
  ASSERT_FALSE(failing.cause.empty());
  MinimizeProgress progress;
  const auto begin = std::chrono::steady_clock::now();
  const MinimizeOptions budget = {.max_tries = kProbes,
                                  .max_seconds = kSeconds};
  const Case minimal =
      twin.Minimal(failing.cause, failing.rich, &progress, budget);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  std::printf("%s: %s, %d bytes to %d in %d probes, %.1f s\n",
              want.target.c_str(), failing.cause.c_str(),
              static_cast<int>(CanonicalBinary(failing.rich).size()),
              static_cast<int>(progress.bytes),
              static_cast<int>(progress.tries), took.count());
  EXPECT_LT(took.count(), kSeconds);
  EXPECT_EQ(twin.CauseOf(minimal), failing.cause);
  EXPECT_EQ(SizeOf(minimal), want.size)
      << "reached  " << SizeText(SizeOf(minimal)) << "\nis known "
      << SizeText(want.size) << "\n"
      << FormatCaseText(minimal);
  const Case again = twin.Minimal(failing.cause, minimal);
  EXPECT_EQ(FormatCaseText(again), FormatCaseText(minimal));
}

std::string NameOf(const testing::TestParamInfo<KnownMinimum>& info) {
  std::string name;
  for (const char c : info.param.target.substr(7)) {
    if (c != '-') name += c;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ledger, KnownMinimumOf,
                         testing::ValuesIn(KnownMinima()), NameOf);

// No wrong twin twice, and how many have none.
TEST(KnownMinima, AreOfMostOfTheLedger) {
  std::set<std::string> known;
  for (const KnownMinimum& minimum : KnownMinima()) {
    EXPECT_TRUE(known.insert(minimum.target).second) << minimum.target;
  }
  std::size_t without = 0;
  for (const LedgerEntry& entry : Ledger()) {
    without += known.count(entry.target) == 0;
  }
  std::printf("%d minima are known, of %d none\n",
              static_cast<int>(known.size()), static_cast<int>(without));
  EXPECT_GT(known.size(), 2 * without);
}

}  // namespace
}  // namespace mlafuzz
