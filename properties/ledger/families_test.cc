// The families of wrong exact kernels, which no selftest runs: each is found,
// by a property that is meant to, and nothing else is.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/checker.h"
#include "properties/generate.h"
#include "properties/ledger/differential_reach.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

std::vector<LedgerEntry> Families() {
  std::vector<LedgerEntry> families;
  for (const LedgerEntry& entry : Ledger()) {
    // Decodes of 656-byte rows have a test beside their kernels.
    if (entry.core ||
        (entry.kernels[0] == Kernel::kDecode && entry.layout == FP8_DS_MLA)) {
      continue;
    }
    families.push_back(entry);
  }
  return families;
}

// At most so many cases from nothing. The slowest was found in its 3,988th: a
// slot above 255 needs a page of 256 rows, or two of 128 and more.
constexpr int kMostCases = 20000;
// Failing cases after which a twin is known well enough.
constexpr int kEnough = 5;
// And those among which its name must come: outputs that are all NaN say
// little.
constexpr int kMostUnnamed = 20;

class Family : public testing::TestWithParam<LedgerEntry> {};

TEST_P(Family, IsFoundAndNamed) {
  const LedgerEntry& entry = GetParam();
  const TargetSet targets = *MakeTargetSet(entry.target);
  const TargetSet builtin = *MakeTargetSet(entry.right);
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  std::unique_ptr<Executor> right = MakeHostExecutor();
  CaseChecker checker(targets, *executor);
  const bool relations = std::any_of(
      entry.properties.begin(), entry.properties.end(),
      [](const std::string& property) { return IsRelation(property); });
  const bool decode = entry.kernels[0] == Kernel::kDecode;
  std::set<std::string> properties, keys;
  int found = 0, first = 0, named = 0, triggered = 0;
  for (int seed = 0; seed < kMostCases &&
                     (found < kEnough || (named == 0 && found < kMostUnnamed));
       ++seed) {
    Choices choices(seed);
    GeneratorOptions options;
    options.layout = entry.layout;
    TakeWhat(entry.kernels[0], RightContract(entry), options);
    if (decode) {
      options.writer = options.gather = options.convert = false;
      options.decode = true;
    }
    const Case c = GenerateCase(choices, options);
    CaseResult result;
    ASSERT_TRUE(
        checker
            .CheckCase(c,
                       {.relations_per_case = relations,
                        .relation_seed = static_cast<std::uint64_t>(seed)},
                       &result)
            .ok());
    std::vector<Observation> expected;
    ASSERT_TRUE(right->Run(builtin, {&result.image, 1}, &expected).ok());
    const Reach reach =
        ReachByDifference(entry, result.image, expected[0], result.observation);
    bool failed = false, alone = false;
    for (const Check& check : result.checks) {
      if (!IsFailure(check.verdict)) continue;
      failed = true;
      alone |= !IsRelation(check.property);
      properties.insert(check.property);
      const std::string key = checker.Why(result, check).key;
      keys.insert(key);
      named += key.rfind(entry.key, 0) == 0;
    }
    // What differs is judged wrong; what does not is not, but for memory that a
    // sanitizer saw, and for what only another run shows. Of a decode some
    // differences lie within the bounds.
    if (decode) {
      ASSERT_TRUE(!alone || reach.triggered || reach.foreign)
          << FormatCaseText(c);
    } else {
      ASSERT_EQ(alone, reach.triggered || reach.foreign) << FormatCaseText(c);
    }
    triggered += reach.triggered;
    found += failed;
    if (failed && first == 0) first = seed + 1;
  }
  std::printf("%s: triggered %d, detected %d, first %d\n", entry.target.c_str(),
              triggered, found, first);
  EXPECT_GT(found, 0);
  EXPECT_TRUE(std::any_of(
      entry.properties.begin(), entry.properties.end(),
      [&](const std::string& p) { return properties.count(p) > 0; }));
  EXPECT_GT(named, 0) << (keys.empty() ? "not found" : *keys.begin());
}

TEST(Ledger, RightContractsAreThoseOfTheTargets) {
  for (const LedgerEntry& entry : Ledger()) {
    if (entry.kernels[0] == Kernel::kDecode) continue;
    const Contract declared =
        MakeTargetSet(entry.right)->For(entry.kernels[0])->contract();
    EXPECT_EQ(RightContract(entry).DebugString(), declared.DebugString())
        << entry.target << " against " << entry.right;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Family, testing::ValuesIn(Families()),
                         [](const testing::TestParamInfo<LedgerEntry>& entry) {
                           std::string name =
                               entry.param.target.substr(sizeof("mutant:") - 1);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mlafuzz
