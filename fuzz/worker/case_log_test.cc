#include "fuzz/worker/case_log.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(CaseLog, GivesBackWhatWasAppended) {
  const std::string path = testing::TempDir() + "/log";
  const std::string large(70000, '\xff');
  {
    auto log = CaseLog::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Append("one");
    (*log)->Append("");
  }
  {
    // A worker that was started again goes on in the same file.
    auto log = CaseLog::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Append(large);
  }
  const auto cases = ReadCaseLog(path);
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_EQ(*cases, (std::vector<std::string>{"one", "", large}));
}

TEST(CaseLog, SaysWhereItIsCutOff) {
  const std::string path = testing::TempDir() + "/cut";
  std::ofstream(path) << std::string("\x01\x00\x00\x00x\x05\x00\x00\x00y", 10);
  const auto cases = ReadCaseLog(path);
  EXPECT_EQ(cases.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(cases.status().message().find("within case 1"), std::string::npos);
}

TEST(CaseLog, CannotBeOpenedWhereNothingCanBe) {
  EXPECT_FALSE(CaseLog::Open("/dev/null/x").ok());
  EXPECT_FALSE(ReadCaseLog(testing::TempDir() + "/none").ok());
}

}  // namespace
}  // namespace mlafuzz
