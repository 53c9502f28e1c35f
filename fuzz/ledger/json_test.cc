#include "fuzz/ledger/json.h"

#include "fuzz/ledger/sample.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(LedgerJson, HasTheMembersThatProgramsRead) {
  const auto json = LedgerJson(SampleResult());
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["mutants"].size(), 3u);
  const auto& mutant = json["mutants"][0];
  EXPECT_EQ(mutant["id"], "mutant:killed");
  EXPECT_EQ(mutant["source"], "an <issue>");
  EXPECT_EQ(mutant["kernel"], "decode");
  ASSERT_EQ(mutant["engines"].size(), 2u);
  const auto& engine = mutant["engines"][0];
  EXPECT_EQ(engine["engine"], "libfuzzer");
  EXPECT_EQ(engine["seeds"], 2);
  EXPECT_EQ(engine["reached"], 2);
  EXPECT_EQ(engine["triggered"], 2);
  EXPECT_EQ(engine["detected"], 2);
  EXPECT_EQ(engine["executions_median"], 6);
  EXPECT_DOUBLE_EQ(engine["cpu_seconds_median"], 0.3);
  EXPECT_EQ(engine["cause"], "right");
  EXPECT_EQ(engine["causes"]["right"], 2);
  EXPECT_EQ(engine["executions_interval"]["low"], 4);
  EXPECT_EQ(engine["runs"][1]["executions"], 8);
  EXPECT_FALSE(mutant.contains("groups"));  // not asked for

  const auto& missed = json["mutants"][2]["engines"][0];
  EXPECT_TRUE(missed["executions_median"].is_null());
  EXPECT_EQ(missed["weak"], "oracle");
  EXPECT_FALSE(missed["runs"][0].contains("cause"));

  const auto& control = json["controls"][0];
  EXPECT_EQ(control["id"], "control:right");
  EXPECT_EQ(control["cases"], 100);
  EXPECT_EQ(control["false_alarms"], 0);

  const auto& baseline = json["baselines"][0];
  EXPECT_EQ(baseline["id"], "theirs");
  EXPECT_EQ(baseline["controls_flagged"], 1);
  EXPECT_EQ(baseline["mutants"][0]["id"], "mutant:killed");
  EXPECT_EQ(baseline["mutants"][0]["killed"], true);
  EXPECT_DOUBLE_EQ(baseline["mutants"][0]["cpu_seconds_median"], 0.0015);
  EXPECT_EQ(baseline["mutants"][1]["killed"], false);
  EXPECT_TRUE(baseline["mutants"][1]["cpu_seconds_median"].is_null());
  EXPECT_EQ(baseline["mutants"][2]["applicable"], false);
}

TEST(LedgerJson, SaysWhatCampaignsThatGoOnFindAndWhatWasNotMeasured) {
  LedgerResult result = SampleResult();
  result.mutants[0].groups = {"decode/one", "decode/two"};
  result.errors = {"no memory"};
  const auto json = LedgerJson(result);
  EXPECT_EQ(json["mutants"][0]["groups"], 2);
  EXPECT_EQ(json["mutants"][0]["groups_expected"], 1);
  EXPECT_EQ(json["mutants"][0]["group_causes"][1], "decode/two");
  EXPECT_EQ(json["errors"][0], "no memory");
  EXPECT_EQ(json["exit_code"], 2);
}

TEST(LedgerJson, OfNothingHasItsListsAllTheSame) {
  const auto json = LedgerJson({});
  for (const char* list : {"mutants", "controls", "baselines"}) {
    EXPECT_TRUE(json[list].is_array()) << list;
    EXPECT_TRUE(json[list].empty()) << list;
  }
}

}  // namespace
}  // namespace mlafuzz
