#include "fuzz/ledger/text.h"

#include "fuzz/ledger/sample.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(LedgerText, PutsSurvivorsFirstWithWhoIsWeak) {
  const std::string text = LedgerText(SampleResult());
  EXPECT_EQ(text.rfind("Survivors: 2\n", 0), 0u) << text;
  const std::size_t generator = text.find("mutant:weak-generator");
  EXPECT_NE(text.find("found by 1/2 seeds: generator weak", generator),
            std::string::npos);
  const std::size_t oracle = text.find("mutant:weak-oracle");
  EXPECT_NE(text.find("found by 0/2 seeds: oracle weak", oracle),
            std::string::npos);
  EXPECT_LT(oracle, text.find("mutant:killed"));
  EXPECT_NE(text.find("in all 100 cases, 0 false alarms"), std::string::npos);
  EXPECT_NE(text.find("the least and the most; the median lies between them "
                      "with probability 0.50"),
            std::string::npos)
      << text;
}

TEST(LedgerText, ShowsWrongCausesAndFalseAlarms) {
  LedgerResult result = SampleResult();
  result.mutants[0].engines[0].runs[0].cause = CauseVerdict::kWrong;
  result.controls[0].false_alarms = 1;
  result.controls[0].alarms = {"decode/other: decode-out: 1 value"};
  result.interrupted = true;
  result.mutants[0].groups = {"decode/one", "decode/two"};
  result.errors = {"no memory"};
  const std::string text = LedgerText(result);
  EXPECT_NE(text.find("Wrong causes: 1\n"), std::string::npos);
  EXPECT_NE(text.find("decode/other: decode-out: 1 value"), std::string::npos);
  EXPECT_NE(text.find("INTERRUPTED"), std::string::npos);
  EXPECT_NE(text.find("2 for 1 wrong kernels, 2.00 a cause"),
            std::string::npos);
  EXPECT_EQ(text.rfind("Not measured:\n  no memory\n", 0), 0u) << text;
}

TEST(Progress, IsOneLine) {
  const LedgerResult result = SampleResult();
  for (const std::string& line :
       {MutantLine(result.mutants[0]), ControlLine(result.controls[0])}) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_NE(MutantLine(result.mutants[0])
                .find("libfuzzer 2/2, 6 calls, 0.3 CPU s, cause right; "
                      "rapidcheck 2/2, 50 calls, 2 CPU s, cause right"),
            std::string::npos)
      << MutantLine(result.mutants[0]);
}

}  // namespace
}  // namespace mlafuzz
