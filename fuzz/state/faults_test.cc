// Every write of a merge meets with every fault: the status is clear, nothing
// that was there is lost, no object is half there, and a second merge ends as
// one that nothing befell.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fuzz/state/merge.h"
#include "fuzz/state/testing/contents.h"
#include "fuzz/state/testing/faulty_calls.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

std::string Path(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

void Fill(const std::string& name, const std::string& first) {
  fs::remove_all(Path(name));
  auto state = State::OpenOrMake(Path(name));
  ASSERT_TRUE(state.ok()) << state.status();
  for (const Kind kind : kAllKinds) {
    ASSERT_TRUE(state->Put(kind, absl::StrCat(first, KindName(kind))).ok());
  }
}

// Makes the shard and merges into it, as a task of a fleet does.
absl::Status Task(FileCalls& calls) {
  auto from = State::Open(Path("from"));
  if (!from.ok()) return from.status();
  auto into = State::OpenOrMake(Path("into"), calls);
  if (!into.ok()) return into.status();
  auto shard = into->OpenOrMakeShard("0");
  if (!shard.ok()) return shard.status();
  if (auto merged = Merge(*from, *shard); !merged.ok()) return merged.status();
  return Merge(*from, *into).status();
}

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, AtEachWriteLoseNothing) {
  Fill("from", "new ");
  Fill("into", "old ");
  const auto source = Contents(Path("from"));
  const auto before = Contents(Path("into"));
  auto after = before;
  after.insert(source.begin(), source.end());
  ASSERT_EQ(after.size(), 9u);  // four old ones, four new ones, the marker

  FaultyCalls counting(GetParam(), -1);
  ASSERT_TRUE(Task(counting).ok());
  ASSERT_GT(counting.calls(), 40);
  int struck = 0;
  for (int at = 0; at < counting.calls(); ++at) {
    Fill("into", "old ");
    const std::string label =
        absl::StrCat(FaultName(GetParam()), " at call ", at);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FaultyCalls calls(GetParam(), at);
      const absl::Status s = Task(calls);
      const bool clear =
          s.ok() ? !calls.struck()
                 : absl::StrContains(s.message(), Path("into")) &&
                       absl::StrContains(s.message(), ": cannot ") &&
                       absl::StrContains(s.message(), "; ");
      _exit(clear ? (calls.struck() ? 1 : 0) : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_NE(WEXITSTATUS(status), 2) << label << ": no clear status";
      struck += WEXITSTATUS(status) == 1;
    } else {
      EXPECT_EQ(WTERMSIG(status), SIGKILL) << label;
      ++struck;
    }
    const auto left = Contents(Path("into"));
    for (const auto& [name, bytes] : before) {
      EXPECT_TRUE(left.count(name) && left.at(name) == bytes)
          << label << ": lost " << name;
    }
    for (const auto& [name, bytes] : left) {
      EXPECT_TRUE(after.count(name) && after.at(name) == bytes)
          << label << ": left a half of " << name;
    }
    EXPECT_EQ(Contents(Path("from")), source) << label;
    ASSERT_TRUE(Task(RealFileCalls()).ok()) << label;
    EXPECT_EQ(Contents(Path("into")), after) << label;
    EXPECT_EQ(Contents(Path("into/shards/0")), source) << label;
  }
  // A fault that never struck has shown nothing.
  EXPECT_GE(struck, 9);
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(kAllFaults));

}  // namespace
}  // namespace mlafuzz
