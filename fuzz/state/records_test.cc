#include "fuzz/state/records.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

class RecordsTest : public testing::Test {
 protected:
  RecordsTest() {
    const std::string path = testing::TempDir() + "/state";
    fs::remove_all(path);
    auto state = State::OpenOrMake(path);
    EXPECT_TRUE(state.ok()) << state.status();
    state_.emplace(*std::move(state));
  }
  std::string Case(const std::string& bytes) {
    return state_->Put(Kind::kCase, bytes).value_or("");
  }
  std::optional<State> state_;
};

TEST_F(RecordsTest, AnEpochIsItsCasesInAnyOrder) {
  EXPECT_FALSE(NewestEpoch(*state_)->has_value());
  const std::string a = Case("a"), b = Case("b");
  const auto one = StartEpoch(*state_, {a, b});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->epoch.number(), 1u);
  EXPECT_EQ(StartEpoch(*state_, {b, a, a})->id, one->id);
  const auto two = StartEpoch(*state_, {a});
  EXPECT_EQ(two->epoch.number(), 2u);
  EXPECT_EQ((*NewestEpoch(*state_))->id, two->id);
}

// Two shards that pruned at the same time: all agree on one of the two.
TEST_F(RecordsTest, OfTwoEpochsWithOneNumberTheHigherIdCounts) {
  Epoch one, other;
  one.set_number(3);
  one.add_cases(Case("a"));
  other.set_number(3);
  other.add_cases(Case("b"));
  const auto first = state_->Put(Kind::kEpoch, RecordBytes(one));
  const auto second = state_->Put(Kind::kEpoch, RecordBytes(other));
  EXPECT_EQ((*NewestEpoch(*state_))->id, std::max(*first, *second));
}

TEST_F(RecordsTest, AUnitIsDoneWithAllItsPartsWhole) {
  FoundCase found;
  found.set_case_id(Case("failing"));
  Unit unit;
  unit.mutable_key()->set_seed(7);
  unit.add_kept(Case("kept"));
  unit.add_findings(
      state_->Put(Kind::kFinding, RecordBytes(found)).value_or(""));
  const std::string id =
      state_->Put(Kind::kUnit, RecordBytes(unit)).value_or("");
  const auto units = ReadUnits(*state_);
  ASSERT_TRUE(units.ok()) << units.status();
  EXPECT_TRUE(units->broken.empty());
  EXPECT_EQ(units->done.count(RecordBytes(unit.key())), 1u);

  const auto paths = {
      state_->FolderOf(Kind::kCase) + "/" + ContentId("failing"),
      state_->FolderOf(Kind::kCase) + "/" + ContentId("kept"),
      absl::StrCat(state_->FolderOf(Kind::kFinding), "/", unit.findings(0)),
      absl::StrCat(state_->FolderOf(Kind::kUnit), "/", id)};
  for (const std::string& path : paths) {
    const fs::path aside = path + ".aside";
    fs::rename(path, aside);
    const bool gone_is_told = path == *(paths.end() - 1);
    if (!gone_is_told) {
      const std::string why = ReadUnits(*state_)->broken[0];
      EXPECT_NE(why.find(aside.string() +
                         " holds it under another name: "
                         "rename that to " +
                         fs::path(path).filename().string()),
                std::string::npos)
          << why;
    }
    EXPECT_EQ(ReadUnits(*state_)->broken.size(), gone_is_told ? 0u : 1u);
    EXPECT_TRUE(ReadUnits(*state_)->done.empty()) << path;
    std::ofstream(path) << "x";
    const auto damaged = ReadUnits(*state_);
    EXPECT_TRUE(damaged->done.empty()) << path;
    ASSERT_EQ(damaged->broken.size(), 1u) << path;
    EXPECT_NE(damaged->broken[0].find("is damaged"), std::string::npos)
        << damaged->broken[0];
    fs::rename(aside, path);
  }
  EXPECT_EQ(ReadUnits(*state_)->done.size(), 1u);
}

}  // namespace
}  // namespace mlafuzz
