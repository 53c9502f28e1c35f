#include "fuzz/worker/semantic_counters.h"

#include <limits>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(SemanticCounters, BoundsHaveBuckets) {
  EXPECT_EQ(BoundBucket(0), 0);
  EXPECT_EQ(BoundBucket(0x1p-8), 0);
  EXPECT_EQ(BoundBucket(0x1p-7), 1);
  EXPECT_EQ(BoundBucket(0.25), 6);
  EXPECT_EQ(BoundBucket(0.3), 7);
  EXPECT_EQ(BoundBucket(0.5), 7);
  EXPECT_EQ(BoundBucket(0.75), 8);
  EXPECT_EQ(BoundBucket(1), 8);
  EXPECT_EQ(BoundBucket(1.01), 9);
  EXPECT_EQ(BoundBucket(std::numeric_limits<double>::infinity()), 9);
  EXPECT_EQ(BoundBucket(std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace mlafuzz
