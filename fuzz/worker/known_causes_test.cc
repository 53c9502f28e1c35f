#include "fuzz/worker/known_causes.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Match = KnownCauses::Match;

TEST(KnownCauses, OneThatIsSeenAgainIsKnown) {
  KnownCauses causes;
  EXPECT_EQ(causes.Learn({"a"}).match, Match::kNew);
  EXPECT_EQ(causes.Learn({"a"}).match, Match::kKnown);
  EXPECT_EQ(causes.Learn({"b"}).match, Match::kNew);
  EXPECT_EQ(causes.Learn({"c", "b"}).match, Match::kKnown);
  EXPECT_EQ(causes.all().size(), 2u);
}

TEST(KnownCauses, ACaseThatTellsMoreNarrowsIt) {
  KnownCauses causes;
  causes.Learn({"a", "b", "c"});
  EXPECT_EQ(causes.Find({"d", "c", "b"}).match, Match::kNarrower);
  EXPECT_EQ(causes.Learn({"d", "c", "b"}).match, Match::kNarrower);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{{"c", "b"}}));
  EXPECT_EQ(causes.Learn({"b"}).match, Match::kNarrower);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{{"b"}}));
  // What it was first taken for is free for another fault.
  EXPECT_EQ(causes.Learn({"a", "c"}).match, Match::kNew);
  EXPECT_EQ(causes.all().size(), 2u);
}

TEST(KnownCauses, AKnownOneComesBeforeOneToBeNarrowed) {
  KnownCauses causes;
  causes.Learn({"a", "b"});
  causes.Learn({"c"});
  EXPECT_EQ(causes.Find({"b", "c"}).match, Match::kKnown);
  EXPECT_EQ(causes.Find({"b", "c"}).number, 1u);
}

TEST(KnownCauses, KeysOfAFailure) {
  Failure failure;
  failure.set_key("a");
  failure.add_also("b");
  EXPECT_EQ(KeysOf(failure), (CauseKeys{"a", "b"}));
  EXPECT_TRUE(Explains(failure, "b"));
  EXPECT_FALSE(Explains(failure, "c"));
}

}  // namespace
}  // namespace mlafuzz
