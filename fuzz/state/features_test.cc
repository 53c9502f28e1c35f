#include "fuzz/state/features.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Numbers = std::vector<std::size_t>;

TEST(MergeLogTest, KeepsWhatAddsAFeature) {
  const MergeLog log = ParseMergeLog(
      "STARTED 0 10\nFT 0 1 2\nCOV 0 7\n"
      "STARTED 1 12\nFT 1\nCOV 1\n"
      "STARTED 2 12\nFT 2 3\nCOV 2 9\n",
      3);
  EXPECT_EQ(log.begun, 3u);
  EXPECT_EQ(log.adding, (Numbers{0, 2}));
}

// After a case that took the engine with it the next process calls new what an
// earlier one has listed.
TEST(MergeLogTest, GoesOnAfterADeath) {
  const MergeLog log = ParseMergeLog(
      "STARTED 0 10\nFT 0 1 2\nSTARTED 1 12\n"
      "STARTED 2 12\nFT 2 1 2\nSTARTED 3 1\nFT 3 1 5\n",
      9);
  EXPECT_EQ(log.begun, 4u);
  EXPECT_EQ(log.adding, (Numbers{0, 3}));
}

TEST(MergeLogTest, ALineThatIsCutSaysNothing) {
  const MergeLog log = ParseMergeLog("STARTED 0 10\nFT 0 1 2", 3);
  EXPECT_EQ(log.begun, 1u);
  EXPECT_TRUE(log.adding.empty());
  EXPECT_EQ(ParseMergeLog("", 3).begun, 0u);
  EXPECT_EQ(ParseMergeLog("STARTED 7 1\n", 3).begun, 0u);
}

}  // namespace
}  // namespace mlafuzz
