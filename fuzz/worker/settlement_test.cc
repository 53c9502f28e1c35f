#include "fuzz/worker/settlement.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

bool All(const std::string&) { return true; }
bool NoPattern(const std::string& cause) { return cause != "pattern"; }

TEST(Settlement, FailingCasesLeaveWhatExplainsThemAll) {
  Settlement settlement({"v", "qk+v", "empty"});
  EXPECT_TRUE(settlement.Fails({"qk+v", "v", "mask"}));
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"v", "qk+v"}));
  EXPECT_TRUE(settlement.Fails({"qk+v"}));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"qk+v"});
  EXPECT_EQ(settlement.alike(), 2);
}

TEST(Settlement, AnotherFaultSaysNothing) {
  Settlement settlement({"v", "qk+v"});
  EXPECT_FALSE(settlement.Fails({"lse"}));
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"v", "qk+v"}));
  EXPECT_EQ(settlement.alike(), 0);
}

TEST(Settlement, ACauseThatAPassRulesOutGivesWay) {
  Settlement settlement({"v", "qk+v"});
  settlement.RuledOut("v");
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"qk+v"});
  // But what fails has the last word.
  EXPECT_TRUE(settlement.Fails({"v"}));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"v"});
}

TEST(Settlement, NothingGivesWayToWhatCannotBeTested) {
  Settlement settlement({"length", "pattern"});
  settlement.RuledOut("length");
  EXPECT_EQ(settlement.Causes(NoPattern), (CauseKeys{"length", "pattern"}));
}

// It let everything come back; the other said what would.
TEST(Settlement, WhatPredictsNothingGivesWay) {
  Settlement settlement({"rescale", "mask"});
  for (int i = 0; i < Settlement::kPredictions; ++i) {
    EXPECT_EQ(settlement.Causes(All), (CauseKeys{"rescale", "mask"}));
    EXPECT_TRUE(settlement.Fails({"rescale", "mask"}, {"mask"}));
  }
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"rescale"});
  // One prediction, and it stands again.
  EXPECT_TRUE(settlement.Fails({"rescale", "mask"}));
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"rescale", "mask"}));
}

// A death may be any rule's that reaches outside; a case that is explained by
// one says whose.
TEST(Settlement, WhatIsPossibleBecomesTheCauseThatExplainsACase) {
  CauseKeys death = {"crash"};
  death.possible = {"slots", "division"};
  Settlement settlement(death);
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"crash"});
  // Another death: nothing new.
  EXPECT_TRUE(settlement.Fails(death));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"crash"});
  EXPECT_EQ(settlement.unproven(), (CauseKeys{"slots", "division"}));
  EXPECT_TRUE(settlement.Fails({"slots"}));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"slots"});
  EXPECT_TRUE(settlement.unproven().empty());
  // What was never possible is another fault's.
  EXPECT_FALSE(settlement.Fails({"lse"}));
}

TEST(Settlement, WhereNothingPredictsAllStay) {
  Settlement settlement({"mask", "slots"});
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(settlement.Fails({"mask", "slots"}, {"mask", "slots"}));
  }
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"mask", "slots"}));
}

TEST(Settlement, WhereAllAreRuledOutAllStay) {
  Settlement settlement({"length", "mask"});
  settlement.RuledOut("length");
  settlement.RuledOut("mask");
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"length", "mask"}));
}

}  // namespace
}  // namespace mlafuzz
