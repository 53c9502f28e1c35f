#include "baselines/random.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace mlafuzz::baselines {
namespace {

constexpr int kDraws = 200000;

TEST(Random, NormalHasTheMomentsOfANormal) {
  Random random(ValueGenerator(1));
  double sum = 0;
  double square = 0;
  double fourth = 0;
  int within = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Normal();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    within += std::fabs(x) < 1;
  }
  // Six standard errors: those of x, x^2 and x^4 are 1, sqrt(2) and sqrt(96).
  const double error = 6 / std::sqrt(kDraws);
  EXPECT_NEAR(sum / kDraws, 0, error);
  EXPECT_NEAR(square / kDraws, 1, error * 1.42);
  EXPECT_NEAR(fourth / kDraws, 3, error * 9.8);
  EXPECT_NEAR(static_cast<double>(within) / kDraws, 0.682689, error * 0.47);
}

TEST(Random, UniformFillsTheUnitInterval) {
  Random random(ValueGenerator(2));
  double sum = 0;
  double square = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float x = random.Uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    square += static_cast<double>(x) * x;
  }
  const double error = 6 / std::sqrt(kDraws);
  EXPECT_NEAR(sum / kDraws, 0.5, error * 0.29);
  EXPECT_NEAR(square / kDraws, 1.0 / 3, error * 0.3);
}

TEST(Random, ASampleOfAllIsAPermutation) {
  Random random(ValueGenerator(3));
  std::vector<std::int32_t> all = random.Sample(1000, 1000);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(Random, ASampleHasEveryNumberAtEveryPlaceAlike) {
  Random random(ValueGenerator(4));
  constexpr int kTrials = 20000;
  int seen[5][3] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::int32_t> sample = random.Sample(5, 3);
    ASSERT_EQ(sample.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) ++seen[sample[i]][i];
  }
  for (const auto& places : seen) {
    for (const int count : places) {
      // Six standard deviations of a share of 1/5.
      EXPECT_NEAR(count, kTrials / 5, 6 * 0.4 * std::sqrt(kTrials));
    }
  }
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random a(ValueGenerator(5));
  Random b(ValueGenerator(5));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Normal(), b.Normal());
}

}  // namespace
}  // namespace mlafuzz::baselines
