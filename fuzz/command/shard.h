#ifndef MLAFUZZ_FUZZ_COMMAND_SHARD_H_
#define MLAFUZZ_FUZZ_COMMAND_SHARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/command/arguments.h"

namespace mlafuzz {

// Which part of a fleet's work is ours: unit i is if i % count == index.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::string from;  // the flags or variables that said so; empty: all is ours
};

std::vector<Flag> ShardFlags();

// --shard and --shards; without them, what the scheduler says:
//
//   Slurm      SLURM_ARRAY_TASK_ID, _MIN, _COUNT, _STEP
//   GitLab     CI_NODE_INDEX (from 1), CI_NODE_TOTAL
//   Buildkite  BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT
//   Bazel      TEST_SHARD_INDEX, TEST_TOTAL_SHARDS
//
// without those, everything. InvalidArgument for an index that is not below the
// count, which an array with gaps would have.
absl::StatusOr<Shard> ReadShard(const Arguments& arguments);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_SHARD_H_
