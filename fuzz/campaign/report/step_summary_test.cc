#include "fuzz/campaign/report/step_summary.h"

#include <string>

#include "fuzz/campaign/report/sample_report.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(StepSummary, IsATableThatNoWordBreaks) {
  const std::string text = StepSummary(SampleReport());
  EXPECT_EQ(text.find("<script>"), std::string::npos) << text;
  EXPECT_EQ(text.find("because <"), std::string::npos);
  EXPECT_NE(text.find("| writer&#45;tail | because &#60;script&#62;"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| 3 of 3 |\n| gather"), std::string::npos) << text;
}

TEST(StepSummary, SaysWhatItLeavesOut) {
  const std::string text = StepSummary(SampleReport(), 1);
  EXPECT_NE(text.find("1 more findings are in report.html"), std::string::npos);
  EXPECT_EQ(text.find("| gather"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
