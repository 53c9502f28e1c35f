#include "fuzz/worker/known_causes.h"

#include <string>
#include <utility>
#include <vector>

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

CauseKeys Keys(std::vector<std::string> explain,
               std::vector<std::string> possible) {
  CauseKeys keys(explain.begin(), explain.end());
  keys.possible = std::move(possible);
  return keys;
}

// A library that throws, and one that writes behind the pool: what a rule that
// has nothing to do with either leaves possible is no name for them.
TEST(KnownCauses, WhatIsOnlyPossibleIsNoName) {
  KnownCauses causes;
  EXPECT_EQ(causes.Learn(Keys({"crash"}, {"slots=A", "slots=B"})).match,
            Match::kNew);
  EXPECT_EQ(causes.Learn(Keys({"writes-outside"}, {"slots=B"})).match,
            Match::kKnown);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{{"crash"}}));
  EXPECT_EQ(causes.Learn({"writes-outside"}).match, Match::kNew);
  // The crash comes without it: that was not its cause.
  causes.Learn({"crash"});
  EXPECT_EQ(causes.Learn({"slots=B"}).match, Match::kNew);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{
                              {"crash"}, {"writes-outside"}, {"slots=B"}}));
}

TEST(KnownCauses, WhatWasPossibleBecomesTheNameWhenItExplains) {
  KnownCauses causes;
  causes.Learn(Keys({"crash"}, {"slots=A", "slots=B"}));
  EXPECT_EQ(causes.Learn({"slots=B", "x"}).match, Match::kNarrower);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{{"slots=B"}}));
  // And what follows from it is it.
  EXPECT_EQ(causes.Learn(Keys({"other"}, {"slots=B"})).match, Match::kKnown);
  EXPECT_EQ(causes.all(), (std::vector<CauseKeys>{{"slots=B"}}));
}

TEST(KnownCauses, WhatExplainsComesBeforeWhatIsPossible) {
  KnownCauses causes;
  causes.Learn(Keys({"crash"}, {"slots=A"}));
  causes.Learn({"b"});
  EXPECT_EQ(causes.Find(Keys({"b"}, {"slots=A"})).number, 1u);
}

TEST(KnownCauses, KeysOfAFailure) {
  Failure failure;
  failure.set_key("a");
  failure.add_also("b");
  EXPECT_EQ(KeysOf(failure), (CauseKeys{"a", "b"}));
  failure.add_possible("c");
  EXPECT_EQ(KeysOf(failure).possible, std::vector<std::string>{"c"});
  EXPECT_TRUE(Explains(failure, "b"));
  EXPECT_FALSE(Explains(failure, "c"));
}

}  // namespace
}  // namespace mlafuzz
