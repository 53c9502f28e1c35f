#include "fuzz/nightly/news.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/nightly/nights.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

FoundCase Found(const std::string& key, const std::string& case_id) {
  FoundCase found;
  found.set_targets("--target=mutant:x");
  found.set_key(key);
  found.set_cause("cause of " + key);
  found.set_case_id(case_id);
  return found;
}

class NewsTest : public testing::Test {
 protected:
  NewsTest() {
    const std::string path = testing::TempDir() + "/state";
    fs::remove_all(path);
    auto state = State::OpenOrMake(path);
    EXPECT_TRUE(state.ok()) << state.status();
    state_.emplace(*std::move(state));
    for (const std::string bytes : {"long case", "short"}) {
      const auto id = state_->Put(Kind::kCase, bytes);
      EXPECT_TRUE(
          state_->Put(Kind::kFinding, RecordBytes(Found("writer/a", *id)))
              .ok());
    }
  }
  std::optional<State> state_;
};

TEST_F(NewsTest, ACauseIsShownByItsSmallestCase) {
  const auto causes = CausesOf(*state_, {}, 3);
  ASSERT_TRUE(causes.ok()) << causes.status();
  ASSERT_EQ(causes->size(), 1u);
  const Cause& cause = causes->begin()->second;
  EXPECT_EQ(cause.case_binary, "short");
  EXPECT_EQ(cause.first_night, 3u);
  EXPECT_EQ(CausesOf(*state_, {{NameOf(cause.sample), {1, false}}}, 3)
                ->begin()
                ->second.first_night,
            1u);
}

TEST_F(NewsTest, WhatTheMorningMakesOfIt) {
  Cause cause;
  cause.sample = Found("writer/a", "");
  const CauseName name = NameOf(cause.sample);
  const KnownBefore failing = {{name, {1, false}}}, gone = {{name, {1, true}}};
  EXPECT_EQ(NewsOf(name, cause, {}), News::kNew);
  EXPECT_EQ(NewsOf(name, cause, failing), News::kStill);
  EXPECT_EQ(NewsOf(name, cause, gone), News::kGone);
  cause.replay = "passes";
  EXPECT_EQ(NewsOf(name, cause, failing), News::kGone);
  EXPECT_EQ(NewsOf(name, cause, gone), News::kGone);
  cause.found_tonight = true;  // by another case
  EXPECT_EQ(NewsOf(name, cause, failing), News::kStill);
  EXPECT_EQ(NewsOf(name, cause, gone), News::kBack);
  cause.found_tonight = false;
  cause.replay = "fails otherwise";
  EXPECT_EQ(NewsOf(name, cause, failing), News::kStill);
  EXPECT_EQ(NewsOf(name, cause, gone), News::kBack);
}

// What was not judged is not gone, and stays gone where it was.
TEST_F(NewsTest, OfACaseThatWasNotJudgedThereIsNoNews) {
  Cause cause;
  cause.sample = Found("writer/a", "");
  const CauseName name = NameOf(cause.sample);
  cause.replay =
      ReplayText(absl::FailedPreconditionError("nothing of writer was judged"));
  EXPECT_EQ(cause.replay, "not run: nothing of writer was judged");
  EXPECT_EQ(NewsOf(name, cause, {{name, {1, false}}}), News::kStill);
  EXPECT_EQ(NewsOf(name, cause, {{name, {1, true}}}), News::kGone);
}

TEST_F(NewsTest, OfSeveralFlavoursTheWorstCounts) {
  const std::string worst_first[] = {
      ReplayText(Outcome::kFails), ReplayText(Outcome::kFailsOtherwise),
      ReplayText(Outcome::kPasses),
      ReplayText(absl::UnavailableError("it does not build"))};
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      EXPECT_EQ(WorseReplay(worst_first[a], worst_first[b]),
                worst_first[std::min(a, b)]);
    }
  }
}

TEST_F(NewsTest, AReportTellsTheNextNight) {
  auto causes = CausesOf(*state_, {}, 1);
  ASSERT_TRUE(causes.ok());
  NightResult result;
  result.night = 1;
  const KnownBefore before;
  EXPECT_NE(NightText(result, *causes, before).find("new:\n  writer-a-"),
            std::string::npos);
  const std::string folder = NightFolder(state_->path(), 1);
  fs::create_directories(folder);
  std::ofstream(folder + "/report.json")
      << NightJson(result, *causes, before).dump();
  const auto known = KnownCausesOf(state_->path(), 1);
  ASSERT_TRUE(known.ok()) << known.status();
  ASSERT_EQ(known->size(), 1u);
  EXPECT_EQ(known->begin()->second.first_night, 1u);
  EXPECT_FALSE(known->begin()->second.gone);
  EXPECT_TRUE(NewCausesText(*causes, *known).empty());
  EXPECT_FALSE(NewCausesText(*causes, before).empty());

  causes->begin()->second.replay = "passes";
  std::ofstream(folder + "/report.json")
      << NightJson(result, *causes, *known).dump();
  EXPECT_TRUE(KnownCausesOf(state_->path(), 1)->begin()->second.gone);
}

TEST_F(NewsTest, NoReportAndADamagedOneAreRefused) {
  EXPECT_TRUE(KnownCausesOf(state_->path(), 0)->empty());
  EXPECT_EQ(KnownCausesOf(state_->path(), 4).status().code(),
            absl::StatusCode::kNotFound);
  const std::string folder = NightFolder(state_->path(), 4);
  fs::create_directories(folder);
  std::ofstream(folder + "/report.json") << "{";
  EXPECT_EQ(KnownCausesOf(state_->path(), 4).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mlafuzz
