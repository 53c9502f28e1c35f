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
  EXPECT_EQ(settlement.others(), 1);
}

TEST(Settlement, WhatIsPossibleSpeaksNotAgainstIt) {
  Settlement settlement({"dense"});
  CauseKeys death = {"crash"};
  death.possible = {"dense"};
  EXPECT_FALSE(settlement.Fails(death));
  EXPECT_EQ(settlement.others(), 0);
  death.possible = {"page-size"};
  EXPECT_FALSE(settlement.Fails(death));
  EXPECT_EQ(settlement.others(), 1);
}

TEST(Settlement, CountsThePassesAgainstACause) {
  Settlement settlement({"v"});
  settlement.RuledOut("v");
  settlement.RuledOut("v");
  EXPECT_EQ(settlement.contradicted("v"), 2);
  EXPECT_EQ(settlement.contradicted("qk"), 0);
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"v"});
}

TEST(Settlement, IsInDoubtWhereAsManyFailOtherwise) {
  Settlement settlement({"v"});
  EXPECT_FALSE(settlement.IsDoubtful());
  for (int i = 0; i < Settlement::kProofs; ++i) {
    EXPECT_FALSE(settlement.IsDoubtful());
    settlement.Fails({"lse"});
  }
  // Fewer are too many only for a claim that few cases were heard of.
  for (int i = 0; i < 2 * Settlement::kProofs; ++i) {
    EXPECT_TRUE(settlement.IsDoubtful());
    settlement.Fails({"v"});
  }
  EXPECT_TRUE(settlement.IsDoubtful());
  settlement.Fails({"v"});
  EXPECT_FALSE(settlement.IsDoubtful());
}

TEST(Settlement, AClaimThatWasHeardEnoughTakesMoreToDoubt) {
  Settlement settlement({"v"});
  for (int i = 0; i < Settlement::kEnoughForClaim; ++i) settlement.Fails({"v"});
  for (int i = 0; i < Settlement::kEnoughForClaim; ++i) {
    EXPECT_FALSE(settlement.IsDoubtful());
    settlement.Fails({"lse"});
  }
  EXPECT_TRUE(settlement.IsDoubtful());
}

// NaN everywhere, rows that were left as they were: by chance what a rule
// leaves.
TEST(Settlement, IsInDoubtAtOneThatFailsOtherwiseWhereNoneSaysMuch) {
  Settlement settlement({"nan"});
  for (int i = 0; i < 12; ++i) settlement.Fails({"nan"}, /*says_little=*/true);
  EXPECT_FALSE(settlement.IsDoubtful());
  settlement.Fails({"values"});
  EXPECT_TRUE(settlement.IsDoubtful());
  settlement.Fails({"nan"}, /*says_little=*/false);
  EXPECT_FALSE(settlement.IsDoubtful());
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
  for (int i = 1; i < Settlement::kProofs; ++i) {
    EXPECT_TRUE(settlement.Fails({"slots"}));
    EXPECT_EQ(settlement.Causes(All), CauseKeys{"crash"});
  }
  EXPECT_EQ(settlement.unproven(), CauseKeys{"slots"});
  EXPECT_TRUE(settlement.Fails({"slots"}));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"slots"});
  EXPECT_TRUE(settlement.unproven().empty());
  // What was never possible is another fault's.
  EXPECT_FALSE(settlement.Fails({"lse"}));
}

// What was possible in its first case may be explained three times along with
// the cause.
TEST(Settlement, WhatIsProvenStandsBesideWhatExplainsAsMuch) {
  CauseKeys own = {"of-first"};
  own.possible = {"ignored"};
  Settlement settlement(own);
  for (int i = 0; i < Settlement::kProofs; ++i) {
    EXPECT_TRUE(settlement.Fails({"ignored", "of-first"}));
  }
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"of-first", "ignored"}));
  EXPECT_TRUE(settlement.Fails({"of-first"}));
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"of-first"});
}

// CUDA does not tell the address of a death: who dies tells the rule.
TEST(Settlement, WhatForetellsDeathsIsTheCause) {
  CauseKeys death = {"crash"};
  death.possible = {"slots", "division", "start"};
  Settlement settlement(death);
  for (int i = 0; i < Settlement::kForetold; ++i) {
    EXPECT_EQ(settlement.Causes(All), CauseKeys{"crash"});
    EXPECT_TRUE(settlement.Fails(death));
    for (const std::string& cause : death.possible) settlement.Dies(cause);
    settlement.Lives("slots");
    if (i == 2) settlement.IsWrong("division");
  }
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"slots"});
  // Of the third it is not known what it lets live.
  EXPECT_EQ(settlement.unproven(), CauseKeys{"start"});
}

// What explains other cases by itself, and may be the reason of each death, is
// not given up for what is only never wrong.
TEST(Settlement, AForetellerStandsBesideAClaimThatForetellsAsMuch) {
  CauseKeys own = {"dense"};
  own.possible = {"page-size"};
  Settlement settlement(own);
  CauseKeys death = {"crash"};
  death.possible = {"dense", "page-size"};
  for (int i = 0; i < Settlement::kForetold; ++i) {
    settlement.Fails(death);
    for (const std::string& cause : death.possible) settlement.Dies(cause);
    settlement.Lives("page-size");
  }
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"dense", "page-size"}));
}

TEST(Settlement, IsHalfProvenByTheFirstCase) {
  CauseKeys own = {"nan"};
  own.possible = {"stride", "page-size"};
  Settlement settlement(own);
  EXPECT_FALSE(settlement.IsHalfProven());
  CauseKeys values = {"stride"};
  values.possible = {"page-size"};
  settlement.Fails(values);
  EXPECT_TRUE(settlement.IsHalfProven());
}

// One that no rule foretells has another cause.
TEST(Settlement, ADeathWithoutTheRuleEndsIt) {
  CauseKeys death = {"crash"};
  death.possible = {"slots"};
  Settlement settlement(death);
  EXPECT_TRUE(settlement.Fails({"crash"}));
  for (int i = 0; i < 2 * Settlement::kForetold; ++i) {
    settlement.Dies("slots");
    settlement.Lives("slots");
  }
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"crash"});
}

// By chance a rule explains a case or two of a fault that is none.
TEST(Settlement, WhatACaseSpeaksAgainstIsNotPossible) {
  CauseKeys own = {"wrong-lse"};
  own.possible = {"leading-block"};
  Settlement settlement(own);
  EXPECT_TRUE(settlement.Fails({"leading-block"}));
  EXPECT_TRUE(settlement.Fails({"wrong-lse"}));
  EXPECT_TRUE(settlement.unproven().empty());
  for (int i = 0; i < Settlement::kProofs; ++i) {
    EXPECT_FALSE(settlement.Fails({"leading-block"}));
  }
  EXPECT_EQ(settlement.Causes(All), CauseKeys{"wrong-lse"});
  EXPECT_EQ(settlement.others(), Settlement::kProofs);
}

TEST(Settlement, WhereAllAreRuledOutAllStay) {
  Settlement settlement({"length", "mask"});
  settlement.RuledOut("length");
  settlement.RuledOut("mask");
  EXPECT_EQ(settlement.Causes(All), (CauseKeys{"length", "mask"}));
}

}  // namespace
}  // namespace mlafuzz
