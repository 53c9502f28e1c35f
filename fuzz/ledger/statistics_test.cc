#include "fuzz/ledger/statistics.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(SpreadOf, NothingSaysNothing) {
  const Spread s = SpreadOf({}, 0);
  EXPECT_FALSE(s.median || s.low || s.high);
}

TEST(SpreadOf, TheMiddleOne) {
  EXPECT_EQ(SpreadOf({5}, 0).median, 5);
  EXPECT_EQ(SpreadOf({9, 1}, 0).median, 5);
  EXPECT_EQ(SpreadOf({9, 1, 2}, 0).median, 2);
}

TEST(SpreadOf, ASeedThatFoundNothingIsAboveAll) {
  EXPECT_EQ(SpreadOf({9, 1}, 1).median, 9);
  EXPECT_FALSE(SpreadOf({9}, 1).median.has_value());
  EXPECT_FALSE(SpreadOf({}, 3).median.has_value());
  const Spread s = SpreadOf({3, 4}, 1);
  EXPECT_EQ(s.low, 3);
  EXPECT_FALSE(s.high.has_value());
}

// Below six seeds: all of them, and what that is worth.
TEST(SpreadOf, FewSeedsGiveLeastAndMost) {
  const Spread two = SpreadOf({7, 3}, 0);
  EXPECT_EQ(two.low, 3);
  EXPECT_EQ(two.high, 7);
  EXPECT_DOUBLE_EQ(two.coverage, 0.5);
  EXPECT_DOUBLE_EQ(SpreadOf({1, 2, 3, 4, 5}, 0).coverage, 1 - 2.0 / 32);
  EXPECT_DOUBLE_EQ(SpreadOf({1}, 0).coverage, 0);
}

// Textbook ranks of the sign test's interval at 95 %: 1 and 6 of 6, 2 and 9 of
// 10, 6 and 15 of 20.
TEST(SpreadOf, ManySeedsGiveTheSignTestsInterval) {
  std::vector<double> values;
  for (int i = 1; i <= 6; ++i) values.push_back(i);
  EXPECT_EQ(SpreadOf(values, 0).low, 1);
  EXPECT_EQ(SpreadOf(values, 0).high, 6);
  for (int i = 7; i <= 10; ++i) values.push_back(i);
  EXPECT_EQ(SpreadOf(values, 0).low, 2);
  EXPECT_EQ(SpreadOf(values, 0).high, 9);
  for (int i = 11; i <= 20; ++i) values.push_back(i);
  const Spread s = SpreadOf(values, 0);
  EXPECT_EQ(s.low, 6);
  EXPECT_EQ(s.high, 15);
  EXPECT_NEAR(s.coverage, 0.9586, 1e-4);
}

}  // namespace
}  // namespace mlafuzz
