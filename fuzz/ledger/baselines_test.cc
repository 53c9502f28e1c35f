#include "fuzz/ledger/baselines.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Stub() {
  const char* stub = std::getenv("STUB");
  return std::filesystem::absolute(stub != nullptr ? stub : "").string();
}

TEST(ListBaselines, NamesThem) {
  const auto ids = ListBaselines(Stub());
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(*ids,
            (std::vector<std::string>{"flags", "passes", "crashes", "fails",
                                      "hangs", "mute", "elsewhere"}));
}

TEST(ListBaselines, SaysWhatIsNoProgramOrListsNothing) {
  EXPECT_EQ(ListBaselines("/no/such/program").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(ListBaselines("/bin/true").status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ListBaselines("/bin/false").status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(RunBaseline, TakesItsWord) {
  const auto run = RunBaseline(Stub(), "flags", "mutant:x", 5);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->seed, 5u);
  EXPECT_TRUE(run->flagged);
  EXPECT_TRUE(run->applicable);
  EXPECT_EQ(run->why, "cosine 0.5");
  EXPECT_EQ(run->cases, 7u);
  EXPECT_EQ(run->cpu_seconds, 0.25);
  const auto passes = RunBaseline(Stub(), "passes", "mutant:x", 5);
  ASSERT_TRUE(passes.ok()) << passes.status();
  EXPECT_FALSE(passes->flagged);
  const auto elsewhere = RunBaseline(Stub(), "elsewhere", "mutant:x", 5);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
  EXPECT_FALSE(elsewhere->applicable);
}

TEST(RunBaseline, ATestSuiteThatDiesIsRed) {
  for (const auto& [baseline, why] :
       {std::pair("crashes", "killed by SIGSEGV"),
        std::pair("fails", "exited with code 3"),
        std::pair("hangs", "hung: no end after 0.5 s")}) {
    const auto run = RunBaseline(Stub(), baseline, "mutant:x", 1, 0.5);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->flagged) << baseline;
    EXPECT_EQ(run->why, why);
  }
}

TEST(RunBaseline, OneThatSaysNothingIsNoMeasurement) {
  EXPECT_EQ(RunBaseline(Stub(), "mute", "mutant:x", 1).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mlafuzz
