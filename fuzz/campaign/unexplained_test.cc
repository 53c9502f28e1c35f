#include "fuzz/campaign/unexplained.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Finding Of(const std::string& kernel, const std::string& key,
           const std::string& property = "gather-exact",
           const std::string& verdict = "fail") {
  Finding finding;
  finding.id = key;
  finding.failure.set_kernel(kernel);
  finding.failure.set_key(kernel + "/" + key);
  finding.failure.set_property(property);
  finding.failure.set_verdict(verdict);
  finding.failure.set_cause(key);
  return finding;
}

TEST(IsUnexplained, IsWhatIsSeenAlone) {
  EXPECT_TRUE(IsUnexplained(Of("gather", "values-only")));
  EXPECT_TRUE(IsUnexplained(Of("gather", "nothing-written")));
  EXPECT_TRUE(IsUnexplained(Of("gather", "first-table-row")));
  EXPECT_TRUE(IsUnexplained(Of("gather", "two-poison", "two-poison")));
  EXPECT_TRUE(IsUnexplained(Of("gather", "crash", "memory-safety", "crash")));
}

TEST(IsUnexplained, IsNoRuleNoRefusalAndNoHang) {
  EXPECT_FALSE(IsUnexplained(Of("gather", "gather.nope_tail=NOPE_TAIL_ZERO")));
  EXPECT_FALSE(IsUnexplained(Of("decode", "missing-rescale", "decode-out")));
  EXPECT_FALSE(IsUnexplained(Of("gather", "refused-valid", "refusal")));
  EXPECT_FALSE(IsUnexplained(Of("gather", "accepted-invalid", "refusal")));
  EXPECT_FALSE(IsUnexplained(Of("gather", "deadlock", "lanes")));
  EXPECT_FALSE(IsUnexplained(Of("gather", "hang", "terminates", "hang")));
}

TEST(JoinUnexplained, MakesOneOfEachKernels) {
  std::vector<Finding> findings = {
      Of("gather", "values-only"), Of("gather", "gather.codes=E4M3FNUZ"),
      Of("writer", "codes-only"),
      Of("gather", "crash", "memory-safety", "crash")};
  findings[0].repeats = 5;
  findings[0].cases_to_find = 9;
  findings[3].repeats = 2;
  findings[3].cases_to_find = 4;
  const std::vector<Finding> gone = JoinUnexplained(findings);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].id, "crash");
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].id, "values-only");
  EXPECT_EQ(findings[0].repeats, 7u);
  EXPECT_EQ(findings[0].cases_to_find, 4u);
  ASSERT_EQ(findings[0].shapes.size(), 1u);
  EXPECT_EQ(findings[0].shapes[0].key, "gather/crash");
  EXPECT_NE(findings[0].failure.cause().find("taken for the same fault: crash"),
            std::string::npos);
  EXPECT_EQ(findings[1].id, "gather.codes=E4M3FNUZ");
  EXPECT_TRUE(findings[2].shapes.empty());
}

TEST(JoinUnexplained, KeepsTheReadingThatExplainsMost) {
  std::vector<Finding> findings = {Of("gather", "values-only"),
                                   Of("gather", "dense-dst"),
                                   Of("gather", "first-table-row")};
  findings[0].alike = 100;
  findings[1].alike = 3;
  findings[2].alike = 7;
  JoinUnexplained(findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "first-table-row");
}

// A kernel that dies of many tokens dies of a shared call first.
TEST(JoinUnexplained, IsLedByWhatACaseShowsAlone) {
  std::vector<Finding> findings = {
      Of("writer", "fused", "fused"),
      Of("writer", "crash", "memory-safety", "crash"),
      Of("writer", "two-poison", "two-poison")};
  findings[0].cases_to_find = 3;
  findings[1].cases_to_find = 70;
  findings[2].cases_to_find = 90;
  JoinUnexplained(findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "crash");
  EXPECT_EQ(findings[0].cases_to_find, 3u);
  ASSERT_EQ(findings[0].shapes.size(), 2u);
  EXPECT_EQ(findings[0].shapes[0].key, "writer/fused");
}

// Whatever explains what it does alone, a hang or a field.
TEST(JoinUnexplained, WhatOnlySharedCallsShowIsAShapeOfWhatACaseShows) {
  std::vector<Finding> findings = {Of("writer", "fused", "fused"),
                                   Of("gather", "fused", "fused"),
                                   Of("writer", "hang", "terminates", "hang")};
  findings[0].cases_to_find = 3;
  findings[2].cases_to_find = 70;
  const std::vector<Finding> gone = JoinUnexplained(findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].failure.kernel(), "gather");
  EXPECT_TRUE(findings[0].shapes.empty());
  EXPECT_EQ(findings[1].id, "hang");
  EXPECT_EQ(findings[1].cases_to_find, 3u);
  ASSERT_EQ(findings[1].shapes.size(), 1u);
  EXPECT_EQ(findings[1].shapes[0].key, "writer/fused");
  ASSERT_EQ(gone.size(), 1u);
}

// A kernel that cannot be launched at all breaks no rule of calls without
// tokens; one that is launched with tokens alone, or fails otherwise, does.
TEST(JoinUnexplained, AnErrorOfAllCallsIsNotThatOfCallsWithoutTokens) {
  const std::string key = "writer.zero_tokens=ZERO_TOKENS_LAUNCH_ERROR";
  Finding empty = Of("writer", key, "lanes");
  empty.failure.set_cause(
      "writer.zero_tokens: the contract says ZERO_TOKENS_NO_OP, the kernel "
      "behaves as ZERO_TOKENS_LAUNCH_ERROR: a call without tokens ends in: no "
      "kernel image");
  empty.cases_to_find = 2;
  Finding error = Of("writer", "error", "lanes");
  error.failure.set_cause("the writer reports an error: no kernel image");
  error.cases_to_find = 5;
  std::vector<Finding> findings = {empty, error};
  EXPECT_EQ(JoinUnexplained(findings).size(), 1u);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "error");
  EXPECT_EQ(findings[0].cases_to_find, 2u);
  ASSERT_EQ(findings[0].shapes.size(), 1u);
  EXPECT_EQ(findings[0].shapes[0].key, "writer/" + key);
  error.failure.set_cause("the writer reports an error: out of memory");
  findings = {empty, error};
  EXPECT_TRUE(JoinUnexplained(findings).empty());
  findings = {empty};
  EXPECT_TRUE(JoinUnexplained(findings).empty());
}

TEST(JoinUnexplained, IsNotLedByAReadingThatMostCasesBelie) {
  std::vector<Finding> findings = {Of("gather", "values-only"),
                                   Of("gather", "first-table-row")};
  findings[1].alike = 4;
  findings[1].others = 9;
  JoinUnexplained(findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "values-only");
}

Finding Claim(const std::string& key, std::uint64_t alike,
              std::uint64_t contradicted) {
  Finding finding = Of("writer", key, "writer-row");
  finding.settled = true;
  finding.alike = alike;
  finding.contradicted = contradicted;
  return finding;
}

// A rule that most cases belie explains a few of an unknown fault's by chance.
TEST(JoinUnexplained, TakesABeliedClaimForAShape) {
  std::vector<Finding> findings = {Claim("writer.inf=INF_SATURATES", 5, 42),
                                   Of("writer", "writer-row"),
                                   Claim("writer.tail=TAIL_UNCHANGED", 12, 7),
                                   Claim("writer.slots=NONE_SKIPPED", 12, 0)};
  findings[0].cases_to_find = 3;
  findings[1].cases_to_find = 9;
  const std::vector<Finding> gone = JoinUnexplained(findings);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].id, "writer.inf=INF_SATURATES");
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].id, "writer-row");
  EXPECT_EQ(findings[0].cases_to_find, 3u);
  ASSERT_EQ(findings[0].shapes.size(), 1u);
  EXPECT_EQ(findings[0].shapes[0].key, "writer/writer.inf=INF_SATURATES");
}

// With nothing else to be said of the kernel it stays, in some calls only; so
// it does beside what nothing explains of another kernel.
TEST(JoinUnexplained, LeavesABeliedClaimThatStandsAlone) {
  std::vector<Finding> findings = {Claim("writer.inf=INF_SATURATES", 5, 42),
                                   Of("gather", "values-only")};
  EXPECT_TRUE(JoinUnexplained(findings).empty());
  EXPECT_EQ(findings.size(), 2u);
}

}  // namespace
}  // namespace mlafuzz
