// Every stored case builds and is right on the builtin kernels: the small ones
// and the regressions under every relation and in every arithmetic too.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/checker.h"

namespace mlafuzz {
namespace {

std::vector<std::string> CasesIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void ExpectRight(const std::string& folder, bool relations,
                 const char* target = "builtin") {
  absl::StatusOr<TargetSet> targets = MakeTargetSet(target);
  ASSERT_TRUE(targets.ok());
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  const std::vector<std::string> paths = CasesIn(folder);
  EXPECT_GT(paths.size(), 2u) << folder;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    absl::StatusOr<Case> c = ReadCase(path);
    ASSERT_TRUE(c.ok()) << c.status();
    CaseResult result;
    const absl::Status status =
        checker.CheckCase(*c, {.all_relations = relations}, &result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_FALSE(result.checks.empty());
    for (const Check& check : result.checks) {
      EXPECT_FALSE(IsFailure(check.verdict))
          << check.property << ": " << check.detail;
      EXPECT_NE(check.verdict, Verdict::kUnspecified) << check.detail;
    }
  }
}

TEST(StoredCases, Small) { ExpectRight("corpus/small", true); }
TEST(StoredCases, Regressions) { ExpectRight("corpus/regressions", true); }
TEST(StoredCases, RegressionsInEveryArithmetic) {
  for (const char* target : {"builtin:bf16-partials", "builtin:e4m3",
                             "builtin:e4m3-two-pass", "builtin:flashmla"}) {
    SCOPED_TRACE(target);
    ExpectRight("corpus/regressions", true, target);
  }
}
TEST(StoredCases, Large) { ExpectRight("corpus/large", false); }

}  // namespace
}  // namespace mlafuzz
