// No right kernel leaves its bounds, however hard one looks for a case in which
// it does: the largest error / bound that hill climbing finds for each
// arithmetic and number of keys.
#include "properties/bounds/bound_search.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Cases a search with one key; fewer where keys cost more.
int Steps(std::uint32_t keys) {
  const char* text = std::getenv("BOUND_SEARCH_STEPS");
  const int steps = text == nullptr ? 1200 : std::atoi(text);
  return keys <= 2 ? steps : keys == 64 ? steps / 3 : steps / 20;
}

class BoundSearch : public testing::TestWithParam<const char*> {};

TEST_P(BoundSearch, NeverLeavesTheBounds) {
  const absl::StatusOr<TargetSet> targets = MakeTargetSet(GetParam());
  ASSERT_TRUE(targets.ok()) << targets.status();
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  for (const std::uint32_t keys : {1u, 2u, 64u, 2048u}) {
    const int steps = Steps(keys);
    const WorstCase worst =
        SearchWorstCase(*targets, *executor, keys, steps, /*seed=*/keys);
    std::printf("%-22s %5u keys %7d cases: out %.3f lse %.3f, %.1f%% open\n",
                GetParam(), keys, worst.measured, worst.out, worst.lse,
                100 * worst.open);
    std::fflush(stdout);
    EXPECT_EQ(worst.measured, steps);
    EXPECT_LE(worst.out, 1) << FormatCaseText(worst.out_case);
    EXPECT_LE(worst.lse, 1) << FormatCaseText(worst.lse_case);
    // A search that measures nothing proves nothing.
    EXPECT_GT(worst.lse, 0);
    EXPECT_LT(worst.open, 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(Arithmetics, BoundSearch,
                         testing::Values("builtin", "builtin:bf16-partials",
                                         "builtin:e4m3",
                                         "builtin:e4m3-two-pass",
                                         "builtin:flashmla"));

// It would find a kernel that is wrong only where the running maximum grows.
TEST(BoundSearchTest, FindsWhatIsWrong) {
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const WorstCase worst = SearchWorstCase(
      *MakeTargetSet("mutant:missing-rescale"), *executor, 64, 1000, 1);
  EXPECT_GT(worst.out, 1);
}

}  // namespace
}  // namespace mlafuzz
