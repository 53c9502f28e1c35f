#include "fuzz/command/paired_ratio.h"

#include <cmath>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(PairedRatio, OfNothingIsZero) {
  const PairedRatio none;
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.ratio(), 0);
  EXPECT_EQ(none.low(), 0);
}

TEST(PairedRatio, OfOnePairBoundsAreOpen) {
  PairedRatio r;
  r.Add(1, 3);
  EXPECT_NEAR(r.ratio(), 3, 1e-12);
  EXPECT_EQ(r.low(), 0);
  EXPECT_TRUE(std::isinf(r.high()));
}

TEST(PairedRatio, TakesTheGeometricMean) {
  PairedRatio r;
  r.Add(10, 20);  // 2
  r.Add(10, 80);  // 8
  EXPECT_NEAR(r.ratio(), 4, 1e-12);
}

TEST(PairedRatio, EqualRatiosLeaveNothingToChance) {
  PairedRatio r;
  for (int i = 1; i <= 5; ++i) r.Add(i, 1.5 * i);
  EXPECT_NEAR(r.low(), 1.5, 1e-9);
  EXPECT_NEAR(r.high(), 1.5, 1e-9);
}

// Logarithms 0, ln 2 and ln 4: mean ln 2, deviation ln 2, t of 2 is 2.919986.
TEST(PairedRatio, BoundsAreStudents) {
  PairedRatio r;
  r.Add(1, 1);
  r.Add(1, 2);
  r.Add(1, 4);
  const double margin = std::exp(2.919986 * std::log(2.0) / std::sqrt(3.0));
  EXPECT_NEAR(r.ratio(), 2, 1e-12);
  EXPECT_NEAR(r.low(), 2 / margin, 1e-5);
  EXPECT_NEAR(r.high(), 2 * margin, 1e-5);
}

}  // namespace
}  // namespace mlafuzz
