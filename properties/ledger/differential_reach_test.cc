#include "properties/ledger/differential_reach.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/checker.h"
#include "properties/generate.h"

namespace mlafuzz {
namespace {

bool IsExact(const LedgerEntry& entry) {
  return std::count(entry.kernels.begin(), entry.kernels.end(),
                    Kernel::kDecode) == 0;
}

class Differential : public testing::TestWithParam<int> {};

// What differs from builtin is judged wrong, and what is judged wrong differs,
// or was seen where it may not read.
TEST_P(Differential, TriggeredIsJudgedWrongAndNothingElse) {
  int triggered = 0;
  for (const LedgerEntry& entry : Ledger()) {
    if (!IsExact(entry)) continue;
    SCOPED_TRACE(entry.target);
    const TargetSet targets = *MakeTargetSet(entry.target);
    std::unique_ptr<Executor> executor = MakeHostExecutor();
    std::unique_ptr<Executor> right = MakeHostExecutor();
    const TargetSet builtin = *MakeTargetSet(entry.right);
    GeneratorOptions options;
    options.layout = entry.layout;
    TakeWhat(entry.kernels[0], RightContract(entry), options);
    CaseChecker checker(targets, *executor);
    for (int i = 0; i < 40; ++i) {
      Choices choices(7000 + 40 * GetParam() + i);
      const Case c = GenerateCase(choices, options);
      CaseResult result;
      ASSERT_TRUE(checker.CheckCase(c, {}, &result).ok());
      std::vector<Observation> expected;
      ASSERT_TRUE(right->Run(builtin, {&result.image, 1}, &expected).ok());
      const Reach reach = ReachByDifference(entry, result.image, expected[0],
                                            result.observation);
      const bool failed =
          std::any_of(result.checks.begin(), result.checks.end(),
                      [](const Check& k) { return IsFailure(k.verdict); });
      ASSERT_EQ(reach.triggered || reach.foreign, failed) << FormatCaseText(c);
      if (reach.triggered) ASSERT_TRUE(reach.reached);
      triggered += reach.triggered;
    }
  }
  EXPECT_GT(triggered, 40);
}

INSTANTIATE_TEST_SUITE_P(Parts, Differential, testing::Range(0, 5));

const LedgerEntry& Entry(const std::string& target) {
  return *FindInLedger(target);
}

Reach Of(const std::string& target, const std::string& text) {
  const Case c = *ParseCaseText(text);
  std::unique_ptr<Executor> right = MakeHostExecutor();
  std::unique_ptr<Executor> wrong = MakeHostExecutor();
  const absl::StatusOr<Reach> reach =
      DifferentialReach(Entry(target), *BuildImage(c), *right, *wrong);
  EXPECT_TRUE(reach.ok()) << reach.status();
  return *reach;
}

constexpr char kNope[] = R"pb(
  pool {
    page_size: 1
    pages: 1
    fill { kind: BYTE byte: 0xa5 }
  }
  steps { write { slots { values: 0 } } })pb";

TEST(DifferentialReach, TellsReachedFromTriggered) {
  const Reach seen = Of("mutant:nope-stale-tail", kNope);
  EXPECT_TRUE(seen.reached && seen.triggered);
  // The same call, in a pool of zeros: nothing to see.
  const Reach hidden = Of("mutant:nope-stale-tail", R"pb(
    pool { page_size: 1 pages: 1 }
    steps { write { slots { values: 0 } } })pb");
  EXPECT_TRUE(hidden.reached);
  EXPECT_FALSE(hidden.triggered);
  const Reach other = Of("mutant:gather-stale-tail", kNope);
  EXPECT_FALSE(other.reached || other.triggered);
}

TEST(DifferentialReach, EndsDifferentlyIsDifferent) {
  const Reach refused = Of("mutant:refuses-all", kNope);
  EXPECT_TRUE(refused.reached && refused.triggered);
  // Both refuse: the wrong kernel is not reached.
  constexpr char kBadRope[] = R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      write {
        slots { values: 0 }
        pe_dim: 32
      }
    })pb";
  const Reach both = Of("mutant:nope-stale-tail", kBadRope);
  EXPECT_FALSE(both.reached || both.triggered);
  const Reach taken = Of("mutant:does-nothing", kBadRope);
  EXPECT_TRUE(taken.reached && taken.triggered);
}

// What a wrong writer left is not the fault of the gather that reads it.
TEST(DifferentialReach, LaterStepsStartFromWhatIsThere) {
  LedgerEntry gather = Entry("mutant:nope-stale-tail");
  gather.kernels = {Kernel::kGather};
  const Case c = *ParseCaseText(R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { kind: BYTE byte: 0xa5 }
    }
    steps { write { slots { values: 0 } } }
    steps {
      gather {
        dst_rows: 1
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 0 }
        }
      }
    })pb");
  std::unique_ptr<Executor> right = MakeHostExecutor();
  std::unique_ptr<Executor> wrong = MakeHostExecutor();
  EXPECT_FALSE(
      DifferentialReach(gather, *BuildImage(c), *right, *wrong)->triggered);
}

}  // namespace
}  // namespace mlafuzz
