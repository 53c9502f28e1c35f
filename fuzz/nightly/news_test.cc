#include "fuzz/nightly/news.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
  EXPECT_EQ(cause.more_cases, (std::vector<std::string>{"long case"}));
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
  EXPECT_EQ(known->begin()->second.passes, 0);
  EXPECT_TRUE(ChangesSince(*causes, *known, *known).fresh.empty());
  EXPECT_FALSE(ChangesSince(*causes, before, *known).fresh.empty());
  // Of a fleet's units that no night has reported yet.
  EXPECT_FALSE(ChangesSince(*causes, before, before).fresh.empty());

  causes->begin()->second.replay = "passes";
  std::ofstream(folder + "/report.json")
      << NightJson(result, *causes, *known).dump();
  EXPECT_TRUE(KnownCausesOf(state_->path(), 1)->begin()->second.gone);
}

// Night by night it moves on by itself, and back at once.
TEST_F(NewsTest, ACauseMovesOnWhileItIsGone) {
  auto causes = CausesOf(*state_, {}, 1);
  ASSERT_TRUE(causes.ok());
  const auto& [name, cause] = *causes->begin();
  KnownBefore known;
  std::vector<KnownBefore> nights = {known};
  const auto night = [&](const std::string& replay, Stage stage, int passes) {
    causes->begin()->second.replay = replay;
    const Standing standing = StandingOf(name, cause, known);
    EXPECT_EQ(StageName(standing.stage), StageName(stage)) << replay;
    EXPECT_EQ(standing.passes, passes) << replay;
    NightResult result;
    result.night = nights.size();
    const std::string folder = NightFolder(state_->path(), result.night);
    fs::create_directories(folder);
    std::ofstream(folder + "/report.json")
        << NightJson(result, *causes, known).dump();
    known = *KnownCausesOf(state_->path(), result.night);
    nights.push_back(known);
  };
  night("fails", Stage::kCrashing, 0);
  night("passes", Stage::kIncubating, 1);
  night("not run: it does not build", Stage::kIncubating, 1);
  night("passes", Stage::kIncubating, 2);
  night("passes", Stage::kRegression, 3);
  night("passes", Stage::kRegression, 4);
  night("fails otherwise", Stage::kCrashing, 0);
  night("not run: it does not build", Stage::kCrashing, 0);
  night("passes", Stage::kIncubating, 1);

  EXPECT_FALSE(ChangesSince(*causes, nights[0], nights[9]).fresh.empty());
  EXPECT_FALSE(ChangesSince(*causes, nights[1], nights[2]).gone.empty());
  EXPECT_FALSE(ChangesSince(*causes, nights[6], nights[7]).back.empty());
  const Changes none = ChangesSince(*causes, nights[2], nights[9]);
  EXPECT_TRUE(none.fresh.empty() && none.back.empty() && none.gone.empty());
}

// Reports of before there were stages.
TEST_F(NewsTest, AnOlderReportKnowsOfOneNight) {
  const std::string folder = NightFolder(state_->path(), 2);
  fs::create_directories(folder);
  std::ofstream(folder + "/report.json") << R"({"causes": [
      {"targets": "t", "key": "a", "first_night": 1, "news": "gone"},
      {"targets": "t", "key": "b", "first_night": 2, "news": "new"}]})";
  const auto known = KnownCausesOf(state_->path(), 2);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->at({"t", "a"}).passes, 1);
  EXPECT_EQ(known->at({"t", "b"}).passes, 0);
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
