// What the supervisor makes of workers that die, hang or eat memory.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "corpus/codec.h"
#include "fuzz/testing/campaigns.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

CampaignOptions Puzzle(const std::string& name) {
  CampaignOptions options = ShortCampaign("puzzle:" + name, {"writer"});
  options.cases = 200;
  options.limits.case_seconds = 1;
  options.limits.resident_bytes = std::uint64_t{512} << 20;
  options.follow_up = true;
  options.stop_on_first = true;
  return options;
}

void ExpectDeath(const std::string& name, const std::string& verdict,
                 const std::string& property) {
  const CampaignResult result = RunShort(Puzzle(name));
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_EQ(result.findings.all().size(), 1u);
  const Finding& f = result.findings.all()[0];
  EXPECT_EQ(f.failure.verdict(), verdict) << f.failure.cause();
  EXPECT_EQ(f.failure.property(), property);
  EXPECT_EQ(f.failure.kernel(), "writer");
  // The case that killed the process is there, and kills again.
  EXPECT_FALSE(f.case_file.empty());
  EXPECT_EQ(f.same, f.reruns) << f.note;
  EXPECT_GT(f.reruns, 0);
  EXPECT_GE(f.executions_to_find, 1u);
  EXPECT_TRUE(result.incidents.empty());
}

TEST(Puzzles, Hang) { ExpectDeath("hang", "hang", "terminates"); }
TEST(Puzzles, Crash) { ExpectDeath("crash", "crash", "memory-safety"); }
TEST(Puzzles, AnExitIsNoSuccess) {
  ExpectDeath("exit0", "crash", "memory-safety");
}
// The case that ran when somebody killed the worker is innocent.
TEST(Puzzles, AWorkerThatIsKilledIsNoFinding) {
  const std::string mark = testing::TempDir() + "/killed";
  std::filesystem::remove(mark);
  setenv("MLAFUZZ_PUZZLE_MARK", mark.c_str(), 1);
  const CampaignResult result = RunShort(Puzzle("killed"));
  EXPECT_TRUE(std::filesystem::exists(mark));
  EXPECT_EQ(ExitCode(result), 0);
  EXPECT_TRUE(result.findings.empty());
  ASSERT_EQ(result.incidents.size(), 1u);
  EXPECT_EQ(result.incidents[0],
            "a worker was killed by SIGKILL in a case, which is right when run "
            "alone");
  EXPECT_EQ(result.respawns, 1);
  EXPECT_GE(result.totals.cases, 199u);
}
TEST(Puzzles, OutOfMemory) { ExpectDeath("oom", "oom", "memory-use"); }

// Begun in time, and over when time is up.
TEST(Puzzles, ADeathAfterTheTimeIsAFinding) {
  CampaignOptions options = Puzzle("late");
  options.cases = 0;
  options.seconds = 3;
  options.limits.case_seconds = 15;
  options.follow_up = false;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_EQ(result.findings.all().size(), 1u);
  EXPECT_EQ(result.findings.all()[0].failure.verdict(), "crash");
}

TEST(Puzzles, ARepeatedDeathIsOneFindingAndFuzzingGoesOn) {
  CampaignOptions options = Puzzle("crash");
  options.stop_on_first = false;
  options.follow_up = false;
  options.cases = 60;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(result.findings.all().size(), 1u);
  EXPECT_GT(result.findings.all()[0].repeats, 0u);
  EXPECT_GT(result.respawns, 1);
  EXPECT_GE(result.totals.cases, 60u);
}

// UBSan's runtime reports a place once a process. The minimiser tries many
// cases in one.
TEST(Puzzles, AFaultThatOnlyUbsanSeesIsMinimised) {
  CampaignOptions options = Puzzle("overflow");
  options.engine.path =
      std::filesystem::absolute(std::getenv("SANITIZED_ENGINE")).string();
  options.engine.flavour = "asan+ubsan";
  options.limits.case_seconds = 10;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_EQ(result.findings.all().size(), 1u);
  const Finding& f = result.findings.all()[0];
  EXPECT_EQ(f.failure.property(), "memory-safety");
  EXPECT_NE(f.failure.detail().find("signed-integer-overflow"),
            std::string::npos)
      << f.failure.detail();
  EXPECT_EQ(f.reruns, 3);
  EXPECT_EQ(f.same, 3) << f.note;
  // Two tokens, a row for each at most, and nothing else. Of as many rows,
  // pages of one row are plainest.
  const auto small = ParseCaseBinary(f.minimal_binary);
  ASSERT_TRUE(small.ok()) << f.note;
  ASSERT_EQ(small->steps_size(), 1);
  const Integers& slots = small->steps(0).write().slots();
  EXPECT_EQ(std::max<int>(slots.values_size(), slots.count()), 2);
  EXPECT_EQ(small->pool().page_size(), 1u);
  EXPECT_LE(small->pool().pages(), 2u);
}

TEST(Puzzles, AFailureWithoutARecordIsOne) {
  CampaignResult result;
  result.totals.informative = 1;
  EXPECT_EQ(ExitCode(result), 0);
  result.totals.failures = 1;
  EXPECT_EQ(ExitCode(result), 1);
}

TEST(Puzzles, Flaky) {
  CampaignOptions options = Puzzle("flaky");
  options.cases = 2000;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings.all()[0].failure.verdict(), "flaky");
  EXPECT_NE(result.findings.all()[0].note.find("of 3"), std::string::npos);
}

TEST(Puzzles, AnEngineThatCannotStartIsAnError) {
  CampaignOptions options = Puzzle("crash");
  options.engine.path = "/bin/false";
  const auto result = RunCampaign(options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("cannot start"),
            absl::string_view::npos)
      << result.status();
}

TEST(Puzzles, AnUnknownTargetIsAnError) {
  CampaignOptions options = Puzzle("crash");
  options.targets.set_all("mutant:nope-stale-tial");
  const auto result = RunCampaign(options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("mutant:nope-stale-tail"),
            absl::string_view::npos)
      << result.status();
}

}  // namespace
}  // namespace mlafuzz
