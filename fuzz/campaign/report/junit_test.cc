#include "fuzz/campaign/report/junit.h"

#include <string>

#include "fuzz/campaign/report/sample_report.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Every '<' begins or ends an element that this project wrote.
TEST(Junit, HasACaseAFindingAndNoWordsOfItsOwn) {
  const std::string xml = JunitXml(SampleReport());
  EXPECT_EQ(xml.find("<script>"), std::string::npos) << xml;
  EXPECT_EQ(xml.find('\xff'), std::string::npos);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure type=\"nope-tail\""), std::string::npos);
  EXPECT_NE(xml.find("<error type=\"memory-safety\""), std::string::npos);
}

TEST(Junit, SaysWhatNothingWasLearntFrom) {
  nlohmann::ordered_json report = SampleReport();
  report["findings"].clear();
  report["exit_code"] = 3;
  report["summary"] = "nothing was informative: no check";
  EXPECT_NE(JunitXml(report).find("<skipped message=\"nothing was informative"),
            std::string::npos);
  report["summary"] = "nothing was compared: of 7 cases";
  EXPECT_NE(JunitXml(report).find("<skipped message=\"nothing was compared"),
            std::string::npos);
  report["error"] = "a library changed";
  EXPECT_NE(JunitXml(report).find("<error type=\"ended-early\""),
            std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
