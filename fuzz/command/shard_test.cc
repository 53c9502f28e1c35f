#include "fuzz/command/shard.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Shard> Read(const Variables& variables,
                           const std::vector<std::string>& typed = {}) {
  // This test's own.
  unsetenv("TEST_SHARD_INDEX");
  unsetenv("TEST_TOTAL_SHARDS");
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  const auto arguments = Arguments::Parse(typed, ShardFlags());
  EXPECT_TRUE(arguments.ok());
  auto shard = ReadShard(*arguments);
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  return shard;
}

void Expect(const Variables& variables, std::uint64_t index,
            std::uint64_t count, const std::vector<std::string>& typed = {}) {
  const auto shard = Read(variables, typed);
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_EQ(shard->index, index);
  EXPECT_EQ(shard->count, count);
}

TEST(ShardTest, IsEverythingByDefault) { Expect({}, 0, 1); }

TEST(ShardTest, IsTheSchedulers) {
  Expect({{"SLURM_ARRAY_TASK_ID", "5"},
          {"SLURM_ARRAY_TASK_MIN", "3"},
          {"SLURM_ARRAY_TASK_COUNT", "4"}},
         2, 4);
  Expect({{"SLURM_ARRAY_TASK_ID", "12"},
          {"SLURM_ARRAY_TASK_MIN", "0"},
          {"SLURM_ARRAY_TASK_STEP", "4"},
          {"SLURM_ARRAY_TASK_COUNT", "4"}},
         3, 4);
  Expect({{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}, 0, 3);
  Expect(
      {{"BUILDKITE_PARALLEL_JOB", "2"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "3"}},
      2, 3);
  Expect({{"TEST_SHARD_INDEX", "1"}, {"TEST_TOTAL_SHARDS", "2"}}, 1, 2);
}

TEST(ShardTest, FlagsComeFirst) {
  Expect({{"SLURM_ARRAY_TASK_ID", "9"}}, 1, 2, {"--shard=1", "--shards=2"});
}

TEST(ShardTest, GapsAndNonsenseAreRefused) {
  // --array=3,7
  EXPECT_FALSE(Read({{"SLURM_ARRAY_TASK_ID", "7"},
                     {"SLURM_ARRAY_TASK_MIN", "3"},
                     {"SLURM_ARRAY_TASK_COUNT", "2"}})
                   .ok());
  EXPECT_FALSE(Read({{"SLURM_ARRAY_TASK_ID", "x"}}).ok());
  EXPECT_FALSE(Read({{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "3"}}).ok());
  EXPECT_FALSE(Read({}, {"--shard=2", "--shards=2"}).ok());
  EXPECT_FALSE(Read({}, {"--shard=2"}).ok());
}

}  // namespace
}  // namespace mlafuzz
