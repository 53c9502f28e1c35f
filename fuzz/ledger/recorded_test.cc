#include "fuzz/ledger/recorded.h"

#include "fuzz/ledger/sample.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

LedgerResult Of(std::vector<SeedRun> runs) {
  LedgerResult result;
  result.mutants = {Mutant("mutant:a", std::move(runs))};
  return result;
}

std::vector<RecordedKill> Recorded() {
  return {{"mutant:a", "libfuzzer", {5, 9, 20}, 0, CauseVerdict::kRight}};
}

std::string Problem(const LedgerResult& result) {
  const auto problems = GateProblems(result, Recorded());
  return problems.empty() ? "" : problems[0];
}

TEST(Recorded, ComesBackAsItWasWritten) {
  const std::vector<RecordedKill> kills = Record(SampleResult());
  ASSERT_EQ(kills.size(), 4u);
  const auto again = ParseRecorded(FormatRecorded(kills, "mlafuzz \"ledger\""));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->size(), kills.size());
  for (std::size_t i = 0; i < kills.size(); ++i) {
    EXPECT_EQ((*again)[i].mutant, kills[i].mutant);
    EXPECT_EQ((*again)[i].engine, kills[i].engine);
    EXPECT_EQ((*again)[i].executions, kills[i].executions);
    EXPECT_EQ((*again)[i].missed, kills[i].missed);
    EXPECT_EQ((*again)[i].cause, kills[i].cause);
  }
  EXPECT_EQ(GateProblems(SampleResult(), *again), std::vector<std::string>());
}

TEST(Recorded, SaysWhatIsNoRecord) {
  for (const char* text :
       {"", "{}", "[1]", "{\"kills\": [3]}", "{\"kills\": [{\"mutant\": 1}]}",
        "{\"kills\": [{\"mutant\": \"m\", \"engine\": \"e\", \"cause\": "
        "\"maybe\", \"missed\": 0, \"executions\": [1]}]}",
        "{\"kills\": [{\"mutant\": \"m\", \"engine\": \"e\", \"cause\": "
        "\"right\", \"missed\": 0, \"executions\": [-1]}]}"}) {
    const auto kills = ParseRecorded(text);
    EXPECT_EQ(kills.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_NE(kills.status().message().find("--record"), std::string::npos);
  }
}

TEST(Gate, IsGreenInsideTheInterval) {
  EXPECT_EQ(Problem(Of({Kill(1, 5, 1), Kill(2, 20, 1)})), "");
  // One seed outside is the luck of the draw.
  EXPECT_EQ(Problem(Of({Kill(1, 9, 1), Kill(2, 500, 1)})), "");
}

TEST(Gate, IsRedWhenAllSeedsAreOutside) {
  EXPECT_NE(Problem(Of({Kill(1, 21, 1), Kill(2, 500, 1)})).find("later"),
            std::string::npos);
  EXPECT_NE(Problem(Of({Kill(1, 4, 1), Kill(2, 1, 1)})).find("sooner"),
            std::string::npos);
}

TEST(Gate, IsRedForASeedThatMissesIt) {
  EXPECT_NE(Problem(Of({Kill(1, 9, 1), Miss(2, true, true)})).find("missed"),
            std::string::npos);
}

TEST(Gate, IsRedForACauseThatIsWorse) {
  EXPECT_NE(Problem(Of({Kill(1, 9, 1, CauseVerdict::kUnknown)})).find("cause"),
            std::string::npos);
  EXPECT_NE(Problem(Of({Kill(1, 9, 1, CauseVerdict::kWrong)})).find("cause"),
            std::string::npos);
}

TEST(Gate, IsRedForWhatIsNotRecordedOrNotMeasured) {
  LedgerResult other;
  other.mutants = {Mutant("mutant:b", {Kill(1, 9, 1)})};
  EXPECT_NE(Problem(other).find("not recorded"), std::string::npos);
  LedgerResult half;
  half.mutants = {Mutant("mutant:a", {Kill(1, 9, 1)})};
  auto kills = Recorded();
  kills.push_back({"mutant:a", "rapidcheck", {1}, 0, CauseVerdict::kRight});
  const auto problems = GateProblems(half, kills);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("not measured"), std::string::npos);
}

TEST(Gate, IsRedForAFalseAlarm) {
  LedgerResult result = Of({Kill(1, 9, 1)});
  result.controls = {{"control:right", 100, 1, {"decode/other: detail"}}};
  EXPECT_NE(Problem(result).find("false alarms: decode/other"),
            std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
