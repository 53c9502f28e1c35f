#include "fuzz/worker/diff.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::unique_ptr<DiffPair> Pair(const std::string& a, const std::string& b,
                               const std::vector<std::string>& kernels = {}) {
  Targets first, second;
  first.set_all(a);
  second.set_all(b);
  auto pair = DiffPair::Create(first, second, kernels);
  EXPECT_TRUE(pair.ok()) << pair.status();
  return pair.ok() ? *std::move(pair) : nullptr;
}

DiffResult Compare(DiffPair& pair, const std::string& text) {
  const auto c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status();
  auto result = pair.Compare(*c, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : DiffResult();
}

constexpr char kWrite[] =
    "pool { page_size: 1 pages: 2 } steps { write { slots { values: [1] } "
    "pe_dim: 64 kv_c { pattern: OCTAVES seed: 1 } } } "
    "steps { patch { slot: 0 data: 'x' } }";

TEST(Diff, CountsWhatBothAnswered) {
  const auto pair = Pair("builtin", "builtin:pow2");
  const DiffResult result = Compare(*pair, kWrite);
  // The patch is no call.
  EXPECT_EQ(result.compared, 1);
  EXPECT_TRUE(result.not_compared.empty());
  // Other scales.
  EXPECT_EQ(result.failure.key(), "writer/difference/pool");
}

constexpr char kWriteAndGather[] =
    "pool { page_size: 1 pages: 2 } steps { write { slots { values: [1] } "
    "pe_dim: 64 kv_c { pattern: OCTAVES seed: 1 } } } "
    "steps { gather { dst_rows: 1 block_table { rows: 1 columns: 1 pages { "
    "values: [1] } } workspace_starts: [0] seq_lens: [1] } }";

// Writers that differ, amid cases of gathers that do not, and that do.
TEST(Diff, OnlyTheNamedKernelsAreCompared) {
  const DiffResult both =
      Compare(*Pair("builtin", "builtin:pow2"), kWriteAndGather);
  EXPECT_EQ(both.failure.key(), "writer/difference/pool");
  const auto gathers = Pair("builtin", "builtin:pow2", {"gather"});
  const DiffResult right = Compare(*gathers, kWriteAndGather);
  EXPECT_TRUE(right.failure.key().empty()) << right.failure.DebugString();
  EXPECT_EQ(right.compared, 1);
  EXPECT_TRUE(right.not_compared.empty());
  // The pools were one: both sides wrote a's.
  ASSERT_EQ(right.b.observation.steps.size(), 2u);
  EXPECT_EQ(right.a.observation.steps[0].pool,
            right.b.observation.steps[0].pool);
  const DiffResult wrong =
      Compare(*Pair("builtin:pow2", "mutant:gather-unit-scale", {"gather"}),
              "pool { page_size: 1 pages: 3 fill { kind: ROWS } } "
              "steps { write { slots { values: [1] } pe_dim: 64 kv_c { "
              "pattern: OCTAVES seed: 1 } } } "
              "steps { gather { dst_rows: 3 block_table { rows: 1 columns: 3 "
              "pages { values: [1, 0, 2] } } workspace_starts: [0] seq_lens: "
              "[3] } }");
  EXPECT_EQ(wrong.failure.step(), 1u) << wrong.failure.DebugString();
  EXPECT_EQ(wrong.failure.kernel(), "gather");
  // A case of which nothing was asked agrees with nobody.
  const DiffResult none = Compare(*gathers, kWrite);
  EXPECT_EQ(none.compared, 0);
  ASSERT_EQ(none.not_compared.size(), 1u);
}

// Who was not sent a case agrees with nobody.
TEST(Diff, ACaseThatOneSideDoesNotTakeIsNotEqual) {
  const auto pair = Pair("builtin", "builtin:indexer");
  const DiffResult result = Compare(*pair, kWrite);
  EXPECT_EQ(result.compared, 0);
  EXPECT_TRUE(result.failure.key().empty());
  ASSERT_EQ(result.not_compared.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(
      result.not_compared[0],
      "b does not take the case: step 0, writer: writer.layout: the pool is "
      "FP8_DS_MLA, the contract is of INDEXER_132"))
      << result.not_compared[0];
  EXPECT_TRUE(result.not_taken[0].empty());
  EXPECT_EQ(result.not_taken[1], result.not_compared[0]);

  auto status = std::make_unique<WorkerStatus>();
  CountComparison(result, *status);
  CountComparison(result, *status);
  CountComparison(Compare(*Pair("builtin", "builtin"), kWrite), *status);
  EXPECT_EQ(status->compared, 1u);
  EXPECT_EQ(status->not_compared, 2u);
  EXPECT_EQ(status->not_taken[0], 0u);
  EXPECT_EQ(status->not_taken[1], 2u);
  EXPECT_EQ(status->WhyNotTaken(0), "");
  EXPECT_EQ(status->WhyNotTaken(1), result.not_compared[0]);
}

TEST(Diff, SaysThatNeitherTakesIt) {
  const auto pair = Pair("builtin:indexer", "builtin:indexer");
  const DiffResult result = Compare(*pair, kWrite);
  EXPECT_EQ(result.compared, 0);
  ASSERT_EQ(result.not_compared.size(), 2u);
  EXPECT_TRUE(absl::StartsWith(result.not_compared[0], "a does not take"));
  EXPECT_TRUE(absl::StartsWith(result.not_compared[1], "b does not take"));
}

TEST(Diff, ACaseThatCallsNothingComparesNothing) {
  const auto pair = Pair("builtin", "builtin");
  const DiffResult result = Compare(
      *pair,
      "pool { page_size: 1 pages: 1 } steps { patch { slot: 0 data: 'x' } }");
  EXPECT_EQ(result.compared, 0);
  ASSERT_EQ(result.not_compared.size(), 1u);
  EXPECT_EQ(result.not_compared[0], "the case calls no kernel");
}

}  // namespace
}  // namespace mlafuzz
