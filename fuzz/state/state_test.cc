#include "fuzz/state/state.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

class StateTest : public testing::Test {
 protected:
  StateTest() : path_(testing::TempDir() + "/state") { fs::remove_all(path_); }
  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << bytes;
  }
  std::string path_;
};

TEST_F(StateTest, KeepsObjectsByTheirContent) {
  auto state = State::OpenOrMake(path_);
  ASSERT_TRUE(state.ok()) << state.status();
  const auto id = state->Put(Kind::kFinding, "abc");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(*id, ContentId("abc"));
  EXPECT_EQ(state->Put(Kind::kFinding, "abc").value_or(""), *id);
  const auto again = State::Open(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Get(Kind::kFinding, *id).value_or(""), "abc");
  EXPECT_EQ(again->List(Kind::kFinding)->size(), 1u);
  EXPECT_TRUE(again->List(Kind::kCase)->empty());
}

TEST_F(StateTest, ACaseIsNamedAsEverywhere) {
  const auto c = ParseCaseText(
      "pool { page_size: 1 pages: 1 } steps { write { slots { values: [0] } } "
      "}");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(ContentId(CanonicalBinary(*c)), CaseId(*c));
}

TEST_F(StateTest, WhatIsDamagedIsToldAndReplaced) {
  auto state = State::OpenOrMake(path_);
  ASSERT_TRUE(state.ok());
  const std::string id = state->Put(Kind::kCase, "whole").value_or("");
  Write("cases/" + id, "who");
  const auto got = state->Get(Kind::kCase, id);
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(got.status().message().find(id + ": is damaged (3 bytes"),
            std::string::npos)
      << got.status();
  EXPECT_TRUE(state->Put(Kind::kCase, "whole").ok());
  EXPECT_EQ(state->Get(Kind::kCase, id).value_or(""), "whole");
}

TEST_F(StateTest, OtherFoldersAreRefusedAndLeftAlone) {
  EXPECT_EQ(State::Open(path_).status().code(), absl::StatusCode::kNotFound);
  Write("letter.txt", "mine");
  EXPECT_EQ(State::Open(path_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(State::OpenOrMake(path_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(path_ + "/cases"));
}

TEST_F(StateTest, LaterVersionsAreRefused) {
  Write("mlafuzz-state", "mlafuzz state 2\n");
  for (const auto& s : {State::Open(path_), State::OpenOrMake(path_)}) {
    EXPECT_EQ(s.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(s.status().message().find("later version"), std::string::npos);
  }
}

TEST_F(StateTest, ShardsAreStatesLikewise) {
  auto state = State::OpenOrMake(path_);
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(state->Shards()->empty());
  auto shard = state->OpenOrMakeShard("7");
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_TRUE(shard->Put(Kind::kCase, "x").ok());
  EXPECT_EQ(*state->Shards(), std::vector<std::string>{"7"});
  EXPECT_TRUE(state->List(Kind::kCase)->empty());
  EXPECT_EQ(state->OpenShard("7")->List(Kind::kCase)->size(), 1u);
}

// Old temporary files of killed writers go; young ones may have a writer yet,
// and what is not ours stays whatever its age.
TEST_F(StateTest, AShardInTheMakingIsNoneYet) {
  auto state = State::OpenOrMake(path_);
  ASSERT_TRUE(state.ok()) << state.status();
  fs::create_directories(path_ + "/shards/0/cases");
  fs::create_directories(path_ + "/shards/1");
  EXPECT_TRUE(state->Shards()->empty());
  ASSERT_TRUE(state->OpenOrMakeShard("0").ok());
  EXPECT_EQ(*state->Shards(), std::vector<std::string>{"0"});
  // What holds something and is no state is not passed over.
  Write("shards/1/cases/x", "abc");
  EXPECT_EQ(*state->Shards(), (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(state->OpenShard("1").ok());
}

TEST(StateSweep, OldTemporariesAlone) {
  const std::string path = testing::TempDir() + "/sweep";
  std::filesystem::remove_all(path);
  auto state = State::OpenOrMake(path);
  ASSERT_TRUE(state.ok()) << state.status();
  const auto id = state->Put(Kind::kCase, "a case");
  ASSERT_TRUE(id.ok());
  const auto old_file = [&](const std::string& name) {
    const std::string file = path + "/" + name;
    std::ofstream(file) << "x";
    std::filesystem::last_write_time(
        file,
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
    return file;
  };
  const std::string gone[] = {old_file("cases/." + *id + ".host.b.123.4"),
                              old_file(".mlafuzz-state.host.1.1")};
  const std::string kept[] = {
      path + "/cases/." + *id + ".host.123.5",  // young
      old_file("cases/.nfs0000123.1.2"),
      old_file("cases/." + *id + ".host.12x.4"),
      old_file("cases/." + *id + ".host"),
      old_file("cases/" + *id + ".host.1.2"),
  };
  std::ofstream(kept[0]) << "x";
  const auto removed = state->SweepTemporaries();
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(*removed, 2);
  for (const std::string& file : gone) {
    EXPECT_FALSE(std::filesystem::exists(file)) << file;
  }
  for (const std::string& file : kept) {
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
  }
  EXPECT_TRUE(state->Get(Kind::kCase, *id).ok());
  EXPECT_EQ(*state->SweepTemporaries(), 0);
  EXPECT_FALSE(std::filesystem::exists(path + "/mlafuzz-state.now"));
}

}  // namespace
}  // namespace mlafuzz
