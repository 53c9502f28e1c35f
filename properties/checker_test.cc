#include "properties/checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/generate.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

std::vector<Case> Generate(int first_seed, int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    Choices choices(first_seed + i);
    cases.push_back(GenerateCase(choices, {}));
  }
  return cases;
}

std::string Text(const CaseResult& result, const Check& check) {
  return std::string(KernelName(check.kernel)) + " " + check.property + " " +
         VerdictName(check.verdict) + ": " + check.detail + "\n" +
         FormatCaseText(*result.image.source);
}

class CheckerTest : public testing::Test {
 protected:
  void SetUp() override { Use("builtin"); }

  void Use(const std::string& name) {
    absl::StatusOr<TargetSet> set = MakeTargetSet(name);
    ASSERT_TRUE(set.ok()) << set.status();
    targets_ = *set;
  }

  CaseResult Check(const Case& c, const CheckOptions& options) {
    CaseChecker checker(targets_, *executor_);
    CaseResult result;
    const absl::Status status = checker.CheckCase(c, options, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }

  TargetSet targets_;
  std::unique_ptr<Executor> executor_ = MakeHostExecutor();
};

// The right kernels are never flagged, by the oracle or by any relation, and
// most of what runs has something to say.
TEST_F(CheckerTest, BuiltinPassesEverything) {
  std::map<std::string, int> runs;
  int informative = 0, steps = 0;
  std::vector<Case> cases = Generate(0, 3000);
  for (int seed = 0; seed < 600; ++seed) {
    Choices choices(seed);
    cases.push_back(GenerateCase(
        choices,
        {.writer = false, .gather = false, .convert = false, .decode = true}));
  }
  for (const Case& c : cases) {
    const CaseResult result = Check(c, {.all_relations = true});
    std::set<int> said;
    for (const mlafuzz::Check& check : result.checks) {
      ASSERT_FALSE(IsFailure(check.verdict)) << Text(result, check);
      ASSERT_NE(check.verdict, Verdict::kUnspecified) << Text(result, check);
      // What relations make up of its calls are calls that it must answer.
      ASSERT_EQ(check.detail.find("the rerun is"), std::string::npos)
          << Text(result, check);
      ++runs[check.property + std::string("/") + KernelName(check.kernel)];
      if (check.verdict == Verdict::kPass) said.insert(check.step);
    }
    for (const StepImage& step : result.image.steps) steps += !step.is_patch;
    informative += static_cast<int>(said.size());
  }
  EXPECT_GT(informative, 0.8 * steps);
  for (const Relation& r : AllRelations()) {
    if (r.on_devices) continue;
    EXPECT_GT(runs[std::string(r.name) + "/" + KernelName(r.kernel)], 100)
        << r.name << " " << KernelName(r.kernel);
  }
}

// N cases at once have the verdicts of N cases one by one, relations too.
TEST_F(CheckerTest, BatchesChangeNothing) {
  for (const char* name : {"builtin", "mutant:writer-negative-slot"}) {
    Use(name);
    const std::vector<Case> cases = Generate(100000, 200);
    std::vector<const Case*> pointers;
    for (const Case& c : cases) pointers.push_back(&c);
    const CheckOptions options = {.relations_per_case = 2, .relation_seed = 9};
    CaseChecker checker(targets_, *executor_);
    std::vector<CaseResult> together;
    ASSERT_TRUE(checker.CheckCases(pointers, options, &together).ok());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const CaseResult alone = Check(cases[i], options);
      ASSERT_EQ(alone.checks.size(), together[i].checks.size());
      for (std::size_t k = 0; k < alone.checks.size(); ++k) {
        EXPECT_EQ(alone.checks[k].property, together[i].checks[k].property);
        EXPECT_EQ(alone.checks[k].verdict, together[i].checks[k].verdict);
        EXPECT_EQ(alone.checks[k].detail, together[i].checks[k].detail);
      }
    }
  }
}

TEST_F(CheckerTest, UnspecifiedCasesAreNotSent) {
  absl::StatusOr<Case> c = ParseCaseText(R"pb(
    pool { page_size: 1 pages: 1 }
    steps { write { slots { values: [ 0, 0 ] } } }
  )pb");
  ASSERT_TRUE(c.ok()) << c.status();
  const std::uint64_t before = executor_->executions()[0];
  const CaseResult result = Check(*c, {.all_relations = true});
  EXPECT_EQ(executor_->executions()[0], before);
  ASSERT_EQ(result.checks.size(), 1);
  EXPECT_EQ(result.checks[0].verdict, Verdict::kUnspecified);
  EXPECT_NE(result.checks[0].detail.find("writer.duplicate_slots"),
            std::string::npos);
  const CaseResult sent = Check(*c, {.send_unspecified = true});
  EXPECT_EQ(executor_->executions()[0], before + 1);
  for (const mlafuzz::Check& check : sent.checks) {
    EXPECT_EQ(check.verdict, Verdict::kUnspecified);
  }
}

TEST_F(CheckerTest, CasesThatDoNotBuildAreNamed) {
  Case c;
  CaseChecker checker(targets_, *executor_);
  CaseResult result;
  const absl::Status status = checker.CheckCase(c, {}, &result);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("pool.page_size"),
            std::string::npos)
      << status;
}

TEST_F(CheckerTest, RelationsCountAsExecutions) {
  absl::StatusOr<Case> c = ParseCaseText(R"pb(
    pool { page_size: 1 pages: 2 }
    steps {
      write {
        slots { values: 1 }
        kv_c { pattern: NORMAL_RANGE }
      }
    })pb");
  ASSERT_TRUE(c.ok()) << c.status();
  Check(*c, {});
  const std::uint64_t once = executor_->executions()[0];
  Check(*c, {.relations_per_case = 1});
  EXPECT_GE(executor_->executions()[0], 3 * once - 1);
}

// A relation that breaks on a case which is right alone may break by a rule
// that reads what the declared ones do not: here slot 0, for a masked lane.
TEST_F(CheckerTest, RulesThatReadMoreMayBeWhyARelationBreaks) {
  for (const int key : {1, 0}) {
    absl::StatusOr<Case> c = ParseCaseText(
        "pool { page_size: 2 pages: 1 } steps { decode { queries: 1 heads: 1 "
        "pe_dim: 64 softmax_scale_bits: 0x3d2aaaab indices { rows: 1 width: 2 "
        "set { at: 0 value: " +
        std::to_string(key) + " } set { at: 1 value: -1 } } } }");
    ASSERT_TRUE(c.ok()) << c.status();
    const CaseResult result = Check(*c, {});
    mlafuzz::Check broken;
    broken.kernel = Kernel::kDecode;
    broken.property = "two-poison";
    broken.verdict = Verdict::kFail;
    CaseChecker checker(targets_, *executor_);
    const Diagnosis why = checker.Why(result, broken);
    EXPECT_EQ(why.field, "");
    EXPECT_EQ(why.key, "two-poison");
    // Slot 0 is a key of its own where it is read anyway.
    EXPECT_EQ(std::count(why.possible.begin(), why.possible.end(),
                         "decode.masked_lanes=MASKED_READ_SLOT0"),
              key == 0 ? 0 : 1)
        << key;
    // A rule of what is computed reads no more.
    EXPECT_EQ(std::count(why.possible.begin(), why.possible.end(),
                         "decode.lse_base=BASE_E"),
              0);
  }
}

// Their gathers refuse the call by which a relation of the writer would read
// what it wrote; that is neither's fault.
TEST_F(CheckerTest, ARelationLeavesOutWhatAContractRefuses) {
  absl::StatusOr<Case> nope = ParseCaseText(R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { byte: 165 }
    }
    steps {
      write {
        slots { values: 0 }
        kv_c { pattern: NORMAL_RANGE seed: 1 }
      }
    }
  )pb");
  ASSERT_TRUE(nope.ok()) << nope.status();
  std::vector<Case> cases = Generate(0, 150);
  cases.push_back(*nope);
  for (const char* name : {"builtin:byte-gather", "builtin:one-scale-gather",
                           "builtin:lengths-demanded"}) {
    Use(name);
    for (const Case& c : cases) {
      const CaseResult result = Check(c, {.all_relations = true});
      for (const mlafuzz::Check& check : result.checks) {
        ASSERT_FALSE(IsFailure(check.verdict)) << name << Text(result, check);
        if (check.property != "nope-tail-through-gather") continue;
        EXPECT_EQ(check.verdict, name == std::string("builtin:lengths-demanded")
                                     ? Verdict::kPass
                                     : Verdict::kSkipped)
            << name << Text(result, check);
      }
    }
  }
}

TEST_F(CheckerTest, CausesHaveKeys) {
  Use("mutant:nope-stale-tail");
  absl::StatusOr<Case> c = ParseCaseText(R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { byte: 165 }
    }
    steps { write { slots { values: 0 } } }
  )pb");
  ASSERT_TRUE(c.ok()) << c.status();
  const CaseResult result = Check(*c, {.all_relations = true});
  CaseChecker checker(targets_, *executor_);
  std::set<std::string> keys, properties;
  for (const mlafuzz::Check& check : result.checks) {
    if (!IsFailure(check.verdict)) continue;
    properties.insert(check.property);
    keys.insert(CauseKey(check, checker.Why(result, check)));
  }
  // Whoever notices it, it is one cause.
  EXPECT_EQ(keys, std::set<std::string>{"writer/writer.tail=TAIL_UNCHANGED"});
  EXPECT_EQ(properties.count("nope-tail"), 1);
  EXPECT_EQ(properties.count("zero-rope"), 1);
  EXPECT_EQ(properties.count("nope-tail-through-gather"), 1);
}

// A right writer is not blamed for the gather that a relation of it calls.
TEST_F(CheckerTest, ARelationBlamesTheKernelWhoseCallIsWrong) {
  Use("mutant:gather-page-start");
  absl::StatusOr<Case> c = ParseCaseText(R"pb(
    pool { page_size: 2 pages: 1 }
    steps {
      write {
        slots { values: [ 0, 1 ] }
        pe_dim: 64
        kv_c { pattern: OCTAVES seed: 5 }
        k_pe { pattern: RANDOM_BITS seed: 6 }
      }
    }
  )pb");
  ASSERT_TRUE(c.ok()) << c.status();
  const CaseResult result = Check(*c, {.all_relations = true});
  CaseChecker checker(targets_, *executor_);
  std::set<std::string> kernels;
  for (const mlafuzz::Check& check : result.checks) {
    if (!IsFailure(check.verdict)) continue;
    EXPECT_EQ(check.property, "round-trip");
    const Diagnosis why = checker.Why(result, check);
    kernels.insert(KernelName(BlamedKernel(check, why)));
    EXPECT_EQ(CauseKey(check, why).substr(0, 7), "gather/");
  }
  EXPECT_EQ(kernels, std::set<std::string>{"gather"});
}

}  // namespace
}  // namespace mlafuzz
