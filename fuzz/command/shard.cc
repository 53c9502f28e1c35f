#include "fuzz/command/shard.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

struct Scheduler {
  const char* index;
  const char* count;
  const char* first;  // the lowest index; null: `lowest`
  std::uint64_t lowest;
  const char* step;  // null: 1
};

constexpr Scheduler kSchedulers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", 0,
     "SLURM_ARRAY_TASK_STEP"},
    {"CI_NODE_INDEX", "CI_NODE_TOTAL", nullptr, 1, nullptr},
    {"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", nullptr, 0,
     nullptr},
    {"TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", nullptr, 0, nullptr},
};

// `fallback` for a variable that is not set, or null.
absl::StatusOr<std::uint64_t> Variable(const char* name,
                                       std::uint64_t fallback) {
  const char* text = name == nullptr ? nullptr : std::getenv(name);
  if (text == nullptr) return fallback;
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scheduler's ", name, "=\"", text,
                     "\" is no number; give --shard and --shards"));
  }
  return number;
}

absl::StatusOr<Shard> FromScheduler(const Scheduler& scheduler) {
  const auto id = Variable(scheduler.index, 0);
  const auto count = Variable(scheduler.count, 1);
  const auto first = Variable(scheduler.first, scheduler.lowest);
  const auto step = Variable(scheduler.step, 1);
  for (const auto* number : {&id, &count, &first, &step}) {
    if (!number->ok()) return number->status();
  }
  Shard shard;
  shard.count = *count;
  shard.from = absl::StrCat(scheduler.index, "=", *id);
  if (*id < *first || *step == 0 || (*id - *first) % *step != 0 ||
      (*id - *first) / *step >= *count) {
    return absl::InvalidArgumentError(absl::StrCat(
        shard.from, " is none of ", *count, " tasks from ", *first,
        " on without gaps; give --shard and --shards (the tasks of a whole "
        "array)"));
  }
  shard.index = (*id - *first) / *step;
  return shard;
}

}  // namespace

std::vector<Flag> ShardFlags() {
  return {
      {"shard", "I", "which part, from 0 (default: the scheduler's, or all)"},
      {"shards", "N", "of how many"},
  };
}

absl::StatusOr<Shard> ReadShard(const Arguments& arguments) {
  if (arguments.Has("shard") != arguments.Has("shards")) {
    return absl::InvalidArgumentError("--shard and --shards go together");
  }
  if (arguments.Has("shard")) {
    const auto index = arguments.Number("shard", 0);
    if (!index.ok()) return index.status();
    const auto count = arguments.Number("shards", 1);
    if (!count.ok()) return count.status();
    if (*index >= *count) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shard needs 0 to ", *count, " - 1, got ", *index));
    }
    return Shard{*index, *count, "--shard"};
  }
  for (const Scheduler& scheduler : kSchedulers) {
    if (std::getenv(scheduler.index) != nullptr) {
      return FromScheduler(scheduler);
    }
  }
  return Shard();
}

}  // namespace mlafuzz
