#include "fuzz/ledger/summary.h"

#include "fuzz/ledger/sample.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Summary, CountsSeeds) {
  const LedgerResult result = SampleResult();
  const EngineSummary all = Summarise(result.mutants[0].engines[0]);
  EXPECT_EQ(all.reached, 2u);
  EXPECT_EQ(all.detected, 2u);
  EXPECT_EQ(all.executions.median, 6);
  EXPECT_DOUBLE_EQ(*all.cpu_seconds.median, 0.3);
  EXPECT_EQ(all.cause, CauseVerdict::kRight);
  EXPECT_EQ(WeaknessOf(all), Weakness::kNone);
  EXPECT_EQ(WeaknessText(all), "");
}

TEST(Summary, TellsAWeakGeneratorFromAWeakOracle) {
  const LedgerResult result = SampleResult();
  const EngineSummary generator = Summarise(result.mutants[1].engines[0]);
  EXPECT_EQ(WeaknessOf(generator), Weakness::kGenerator);
  EXPECT_EQ(WeaknessText(generator),
            "generator weak (reached, never triggered)");
  EXPECT_FALSE(Killed(generator));  // in one of two seeds
  const EngineSummary oracle = Summarise(result.mutants[2].engines[0]);
  EXPECT_EQ(WeaknessOf(oracle), Weakness::kOracle);
  EXPECT_EQ(WeaknessText(oracle), "oracle weak (triggered, not detected)");
  EXPECT_EQ(WeaknessText(Summarise({"libfuzzer", {Miss(1, false, false)}})),
            "generator weak (never reached)");
}

TEST(Summary, ComparesWithABaseline) {
  const LedgerResult result = SampleResult();
  const Comparison c = Compare(result, result.baselines[0]);
  EXPECT_EQ(c.mutants, 3u);
  EXPECT_EQ(c.applicable, 2u);
  EXPECT_EQ(c.killed_by_baseline, 1u);
  EXPECT_EQ(c.killed_by_us, 1u);
  EXPECT_EQ(c.killed_by_us_applicable, 1u);
  EXPECT_EQ(c.both, 1u);
  EXPECT_EQ(c.first_or_tied, 0u);
  EXPECT_EQ(c.slower, std::vector<std::string>{"mutant:killed"});
  EXPECT_EQ(c.controls, 1u);
  EXPECT_EQ(c.controls_flagged, 1u);
}

TEST(Summary, ATieIsAFactorOfTwoOrTenMilliseconds) {
  LedgerResult result;
  result.mutants = {Mutant("mutant:a", {Kill(1, 1, 1.9)}),
                    Mutant("mutant:b", {Kill(1, 1, 0.0108)}),
                    Mutant("mutant:c", {Kill(1, 1, 2.1)})};
  result.baselines = {{"theirs",
                       {{"mutant:a", {Flag(true, 1)}},
                        {"mutant:b", {Flag(true, 0.001)}},
                        {"mutant:c", {Flag(true, 1)}}},
                       {}}};
  const Comparison c = Compare(result, result.baselines[0]);
  EXPECT_EQ(c.first_or_tied, 2u);
  EXPECT_EQ(c.slower, std::vector<std::string>{"mutant:c"});
}

TEST(ExitCode, IsRedForWhatWasOverlookedFlaggedOrMisnamed) {
  LedgerResult result;
  result.mutants = {Mutant("mutant:a", {Kill(1, 1, 1), Kill(2, 1, 1)})};
  result.controls = {{"control:right", 100, 0, {}}};
  EXPECT_EQ(LedgerExitCode(result), 0);
  result.mutants[0].engines[0].runs[1] = Miss(2, true, false);
  EXPECT_EQ(LedgerExitCode(result), 0);  // nothing was overlooked
  result.mutants[0].engines[0].runs[1] = Miss(2, true, true);
  EXPECT_EQ(LedgerExitCode(result), 1);
  result.mutants[0].engines[0].runs[1] = Kill(2, 1, 1, CauseVerdict::kUnknown);
  EXPECT_EQ(LedgerExitCode(result), 0);
  result.mutants[0].engines[0].runs[1] = Kill(2, 1, 1, CauseVerdict::kWrong);
  EXPECT_EQ(LedgerExitCode(result), 1);
  result.mutants.clear();
  result.controls[0].false_alarms = 1;
  EXPECT_EQ(LedgerExitCode(result), 1);
}

}  // namespace
}  // namespace mlafuzz
