// Work units with the real engine: equal bytes from any number of shards, in
// any order, cut and begun again.

#include "fuzz/state/unit.h"

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/state/features.h"
#include "fuzz/state/merge.h"
#include "fuzz/state/testing/contents.h"
#include "fuzz/testing/campaigns.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnits = 3;

State Make(const std::string& name) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  fs::remove_all(path);
  auto state = State::OpenOrMake(path);
  EXPECT_TRUE(state.ok()) << state.status();
  return *std::move(state);
}

UnitOptions OptionsFor(State& state) {
  UnitOptions options;
  options.campaign =
      ShortCampaign("mutant:nope-stale-tail", {"writer", "gather"});
  options.cases = 400;
  options.engine_id = "engine";
  std::vector<std::string> ids;
  for (const char* slots : {"0", "0, 1", "1, -1, 0"}) {
    const auto c = ParseCaseText(absl::StrCat(
        "pool { page_size: 2 pages: 1 } steps { write { slots { values: [",
        slots, "] } } }"));
    EXPECT_TRUE(c.ok()) << c.status();
    ids.push_back(state.Put(Kind::kCase, CanonicalBinary(*c)).value_or(""));
  }
  auto epoch = StartEpoch(state, std::move(ids));
  EXPECT_TRUE(epoch.ok()) << epoch.status();
  options.epoch = *std::move(epoch);
  return options;
}

void RunSeed(State& state, const UnitOptions& options, std::uint64_t seed,
             const std::string& shard_name) {
  auto shard = state.OpenOrMakeShard(shard_name);
  ASSERT_TRUE(shard.ok()) << shard.status();
  const auto unit = RunUnit(state, options, seed, *shard);
  ASSERT_TRUE(unit.ok()) << unit.status();
  EXPECT_EQ(unit->cases(), options.cases);
  EXPECT_GT(unit->kept_size(), 5);
  EXPECT_GT(unit->findings_size(), 0);
}

void MergeShards(State& state) {
  const auto names = state.Shards();
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) {
    const auto shard = state.OpenShard(name);
    ASSERT_TRUE(shard.ok()) << shard.status();
    const auto merged = Merge(*shard, state);
    ASSERT_TRUE(merged.ok()) << merged.status();
    EXPECT_TRUE(merged->damaged.empty());
  }
}

TEST(UnitTest, AnyNumberOfShardsInAnyOrderGivesTheSameBytes) {
  State one = Make("one");
  const UnitOptions options = OptionsFor(one);
  for (std::uint64_t seed = 1; seed <= kUnits; ++seed) {
    RunSeed(one, options, seed, "0");
  }
  MergeShards(one);

  State many = Make("many");
  ASSERT_EQ(OptionsFor(many).epoch.id, options.epoch.id);
  // Elsewhere, and the environment of another machine.
  const std::string temporary = testing::TempDir() + "/a-longer-name-for-it";
  fs::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  setenv("A_VARIABLE_OF_ANOTHER_MACHINE", std::string(777, 'x').c_str(), 1);
  for (std::uint64_t seed = kUnits; seed >= 1; --seed) {
    RunSeed(many, options, seed, absl::StrCat(seed));
  }
  // Twice, as after a task's node was lost.
  RunSeed(many, options, 2, "0");
  MergeShards(many);
  unsetenv("TMPDIR");
  unsetenv("A_VARIABLE_OF_ANOTHER_MACHINE");

  const auto a = Contents(one.path()), b = Contents(many.path());
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, bytes] : a) EXPECT_EQ(b.count(name), 1u) << name;
  EXPECT_TRUE(a == b);
  EXPECT_EQ(ReadUnits(one)->done.size(), kUnits);
}

// Killed at any time, with its worker: what is there is a part of what a whole
// run leaves, and running it again leaves the same.
TEST(UnitTest, AUnitThatWasKilledIsRunAgainWhole) {
  State straight = Make("straight");
  const UnitOptions options = OptionsFor(straight);
  RunSeed(straight, options, 1, "0");
  MergeShards(straight);
  const auto wanted = Contents(straight.path());
  for (const int milliseconds : {0, 50, 200, 600}) {
    State cut = Make("cut");
    ASSERT_EQ(OptionsFor(cut).epoch.id, options.epoch.id);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto shard = cut.OpenOrMakeShard("0");
      _exit(shard.ok() && RunUnit(cut, options, 1, *shard).ok() ? 0 : 1);
    }
    usleep(1000u * static_cast<unsigned>(milliseconds));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    MergeShards(cut);
    for (const auto& [name, bytes] : Contents(cut.path())) {
      EXPECT_TRUE(wanted.count(name) && wanted.at(name) == bytes) << name;
    }
    RunSeed(cut, options, 1, "0");
    MergeShards(cut);
    EXPECT_TRUE(Contents(cut.path()) == wanted)
        << "killed after " << milliseconds << " ms";
  }
}

// libFuzzer does not say which cases it could not write.
TEST(UnitTest, OnAFullDiskNothingIsDone) {
  State state = Make("full");
  const UnitOptions options = OptionsFor(state);
  const std::string small = testing::TempDir() + "/small";
  fs::create_directories(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "cannot mount a small file system: "
                 << std::strerror(errno);
  }
  setenv("TMPDIR", small.c_str(), 1);
  auto shard = state.OpenOrMakeShard("0");
  const auto unit = RunUnit(state, options, 1, *shard);
  unsetenv("TMPDIR");
  umount2(small.c_str(), MNT_DETACH);
  ASSERT_EQ(unit.status().code(), absl::StatusCode::kUnavailable)
      << unit.status();
  EXPECT_NE(unit.status().message().find("run again"), std::string::npos)
      << unit.status();
  EXPECT_TRUE(shard->List(Kind::kUnit)->empty());
  RunSeed(state, options, 1, "0");
}

TEST(UnitTest, AnotherKernelOrSeedIsAnotherUnit) {
  State state = Make("keys");
  UnitOptions options = OptionsFor(state);
  const std::string key = RecordBytes(KeyOf(options, 1));
  EXPECT_EQ(RecordBytes(KeyOf(options, 1)), key);
  EXPECT_NE(RecordBytes(KeyOf(options, 2)), key);
  UnitOptions other = options;
  other.engine_id = "another build";
  EXPECT_NE(RecordBytes(KeyOf(other, 1)), key);
  other = options;
  other.campaign.targets.add_libraries()->set_hash(5);
  EXPECT_NE(RecordBytes(KeyOf(other, 1)), key);
  other = options;
  other.campaign.targets.set_all("builtin");
  EXPECT_NE(RecordBytes(KeyOf(other, 1)), key);
}

// The second of equal cases may: what is done once is done with the first.
TEST(FeaturesTest, FurtherCopiesAddNothingAndAnotherKernelDoes) {
  CampaignOptions options = ShortCampaign("builtin", {"writer", "gather"});
  const auto binary = [](const std::string& text) {
    const auto c = ParseCaseText(text);
    EXPECT_TRUE(c.ok()) << c.status();
    return CanonicalBinary(*c);
  };
  const std::string write = binary(
      "pool { page_size: 2 pages: 1 } steps { write { slots { values: [0] } "
      "} }");
  const std::string gather = binary(
      "pool { page_size: 2 pages: 1 } steps { gather { dst_rows: 1 "
      "workspace_starts: [0] seq_lens: [1] block_table { rows: 1 columns: 1 "
      "pages { values: [0] } } } }");
  const auto adding =
      AddingFeatures(options, {write, write, write, gather, gather, gather});
  ASSERT_TRUE(adding.ok()) << adding.status();
  for (const auto& [number, adds] : {std::pair(0u, 1), std::pair(2u, 0),
                                     std::pair(3u, 1), std::pair(5u, 0)}) {
    EXPECT_EQ(std::count(adding->begin(), adding->end(), number), adds)
        << number;
  }
}

}  // namespace
}  // namespace mlafuzz
