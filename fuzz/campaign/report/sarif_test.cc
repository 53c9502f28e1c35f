#include "fuzz/campaign/report/sarif.h"

#include <string>

#include "fuzz/campaign/report/sample_report.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Sarif, HasARuleACauseAndAResultAFinding) {
  nlohmann::ordered_json report = SampleReport();
  report["findings"].push_back(report["findings"][0]);
  const nlohmann::ordered_json sarif = Sarif(report);
  EXPECT_EQ(sarif["version"], "2.1.0");
  const auto& run = sarif["runs"][0];
  ASSERT_EQ(run["tool"]["driver"]["rules"].size(), 2u);
  ASSERT_EQ(run["results"].size(), 3u);
  EXPECT_EQ(run["results"][0]["ruleId"], "writer/writer.tail=TAIL_UNCHANGED");
  EXPECT_EQ(run["results"][2]["ruleIndex"], 0);
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]
               ["artifactLocation"]["uri"],
            "findings/writer-tail/case.txtpb");
  EXPECT_NE(run["tool"]["driver"]["rules"][0]["help"]["text"], "");
  // Strict: what is no UTF-8 would throw.
  EXPECT_NE(sarif.dump().find("because"), std::string::npos);
}

TEST(Sarif, SaysThatACampaignEndedEarly) {
  nlohmann::ordered_json report = SampleReport();
  report["error"] = "a library changed";
  const nlohmann::ordered_json sarif = Sarif(report);
  const auto& invocation = sarif["runs"][0]["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], false);
  EXPECT_EQ(invocation["toolExecutionNotifications"][0]["message"]["text"],
            "a library changed");
}

}  // namespace
}  // namespace mlafuzz
