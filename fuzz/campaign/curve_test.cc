#include "fuzz/campaign/curve.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Curve, HoldsAnyLength) {
  Curve curve;
  constexpr int kSteps = 100'000;
  for (int i = 0; i < kSteps; ++i) {
    curve.Add({0.02 * i, static_cast<std::uint64_t>(i), 0, 0});
    ASSERT_LT(curve.points().size(), Curve::kMostPoints);
  }
  curve.Finish({0.02 * kSteps, kSteps, 7, 1});
  ASSERT_LE(curve.points().size(), Curve::kMostPoints);
  EXPECT_GE(curve.points().size(), Curve::kMostPoints / 2);
  EXPECT_EQ(curve.points().front().seconds, 0);
  EXPECT_EQ(curve.points().back().cases, kSteps);
  EXPECT_EQ(curve.points().back().findings, 1u);
  for (std::size_t i = 1; i < curve.points().size(); ++i) {
    EXPECT_LT(curve.points()[i - 1].seconds, curve.points()[i].seconds);
  }
}

TEST(Curve, OfAShortCampaignIsItsEnd) {
  Curve curve;
  curve.Add({0, 0, 0, 0});
  curve.Finish({0, 5, 0, 0});
  ASSERT_EQ(curve.points().size(), 1u);
  EXPECT_EQ(curve.points()[0].cases, 5u);
}

}  // namespace
}  // namespace mlafuzz
