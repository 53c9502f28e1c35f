#include "properties/ledger/ledger.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "properties/checker.h"
#include "properties/generate.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

bool IsMutant(const std::string& name) { return name.rfind("mutant:", 0) == 0; }

TEST(LedgerTest, HasEveryWrongTargetAndNoOther) {
  std::vector<std::string> wrong, entries;
  for (const TargetInfo& target : AllTargets()) {
    if (!IsMutant(target.name)) continue;
    wrong.push_back(target.name);
    const LedgerEntry* entry = FindInLedger(target.name);
    ASSERT_NE(entry, nullptr) << target.name;
    EXPECT_EQ(entry->kernels, target.replaces) << target.name;
    EXPECT_FALSE(entry->properties.empty()) << target.name;
    EXPECT_FALSE(entry->source.empty()) << target.name;
  }
  for (const LedgerEntry& entry : Ledger()) entries.push_back(entry.target);
  std::sort(wrong.begin(), wrong.end());
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(wrong, entries);
  EXPECT_EQ(FindInLedger("mutant:none"), nullptr);
}

TEST(LedgerTest, FieldsAreContractFields) {
  for (const LedgerEntry& entry : Ledger()) {
    if (entry.field.empty()) continue;
    const std::vector<Neighbour> all =
        Neighbours(RightContract(entry), entry.kernels[0]);
    const std::vector<std::string> fields = absl::StrSplit(entry.field, '+');
    const std::vector<std::string> values = absl::StrSplit(entry.value, '+');
    ASSERT_EQ(fields.size(), values.size()) << entry.target;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Neighbour& n) {
        return n.field == fields[i] && n.changed == values[i];
      })) << entry.target;
    }
  }
}

struct Seen {
  std::set<std::string> properties;
  std::set<std::string> keys;
  int reached = 0, triggered = 0, detected = 0, first = -1;
};

bool ReplacesDecode(const std::vector<Kernel>& kernels) {
  return std::count(kernels.begin(), kernels.end(), Kernel::kDecode) > 0;
}

constexpr GeneratorOptions kDecodes = {
    .writer = false, .gather = false, .convert = false, .decode = true};

GeneratorOptions OptionsFor(const LedgerEntry& entry) {
  if (entry.kernels == std::vector<Kernel>{Kernel::kDecode}) {
    GeneratorOptions options = kDecodes;
    options.layout = entry.layout;
    TakeWhat(Kernel::kDecode, RightContract(entry), options);
    return options;
  }
  GeneratorOptions options = {.decode = ReplacesDecode(entry.kernels)};
  TakeWhat(entry.kernels[0], RightContract(entry), options);
  return options;
}

Seen Campaign(const LedgerEntry& entry, int cases, bool relations) {
  Seen seen;
  absl::StatusOr<TargetSet> targets = MakeTargetSet(entry.target);
  EXPECT_TRUE(targets.ok()) << targets.status();
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  for (int seed = 0; seed < cases; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, OptionsFor(entry));
    CaseResult result;
    const absl::Status status =
        checker.CheckCase(c, {.all_relations = relations}, &result);
    EXPECT_TRUE(status.ok()) << status;
    const Reach reach = ReachOf(entry, result.image);
    bool failed = false;
    for (const Check& check : result.checks) {
      if (!IsFailure(check.verdict)) continue;
      failed = true;
      seen.properties.insert(check.property);
      if (seen.detected < 30) {
        seen.keys.insert(checker.Why(result, check).key);
      }
    }
    seen.reached += reach.reached;
    seen.triggered += reach.triggered;
    seen.detected += failed;
    if (failed && seen.first < 0) seen.first = seed + 1;
    // Nothing is missed; nothing is seen where nothing is wrong.
    if (reach.triggered) {
      EXPECT_TRUE(failed) << "missed by " << entry.target << "\n"
                          << FormatCaseText(c);
    }
    // A relation may call kernels that the case does not.
    if (failed && !relations) {
      EXPECT_TRUE(reach.reached) << entry.target << "\n" << FormatCaseText(c);
      // INT64_MIN times a row is an address too, if not always a wrong one. Two
      // decodes whose bounds overlap may be told apart all the same.
      if (!entry.field.empty() && entry.field != "writer.slots" &&
          !ReplacesDecode(entry.kernels)) {
        EXPECT_TRUE(reach.triggered || reach.foreign) << entry.target << "\n"
                                                      << FormatCaseText(c);
      }
    }
  }
  return seen;
}

class LedgerDetection : public testing::TestWithParam<LedgerEntry> {};

// Each twin is found by a property that is meant to, by its field, and on
// every case that triggers it.
TEST_P(LedgerDetection, IsFoundAndNamed) {
  const LedgerEntry& entry = GetParam();
  const Seen seen = Campaign(entry, 1000, /*relations=*/false);
  EXPECT_GT(seen.detected, 0);
  EXPECT_GE(seen.reached, seen.triggered);
  EXPECT_LE(seen.first, 1000);
  EXPECT_TRUE(std::any_of(
      entry.properties.begin(), entry.properties.end(),
      [&](const std::string& p) { return seen.properties.count(p) > 0; }));
  if (!entry.key.empty()) {
    EXPECT_TRUE(std::any_of(
        seen.keys.begin(), seen.keys.end(),
        [&](const std::string& key) { return key.rfind(entry.key, 0) == 0; }));
  }
  std::printf("%s: reached %d, triggered %d, detected %d, first %d\n",
              entry.target.c_str(), seen.reached, seen.triggered, seen.detected,
              seen.first);
  RecordProperty("reached", seen.reached);
  RecordProperty("triggered", seen.triggered);
  RecordProperty("detected", seen.detected);
  RecordProperty("first", seen.first);
}

// Relations that the ledger names see it too: they stand on their own.
TEST_P(LedgerDetection, IsSeenByItsRelations) {
  const LedgerEntry& entry = GetParam();
  std::set<std::string> relations;
  for (const Relation& r : AllRelations()) relations.insert(r.name);
  std::set<std::string> expected;
  for (const std::string& p : entry.properties) {
    if (relations.count(p) > 0) expected.insert(p);
  }
  if (expected.empty()) return;
  const Seen seen = Campaign(entry, 300, /*relations=*/true);
  for (const std::string& p : expected) {
    EXPECT_EQ(seen.properties.count(p), 1) << p;
  }
}

std::string TestName(const testing::TestParamInfo<LedgerEntry>& entry) {
  std::string name = entry.param.target.substr(sizeof("mutant:") - 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, LedgerDetection, testing::ValuesIn(CoreLedger()),
                         TestName);

// The other wrong decodes, each as far as its first detections: by a property
// that is meant to, under the key that it has if it has one, and on every case
// that triggers it until then.
std::vector<LedgerEntry> FurtherDecodes() {
  std::vector<LedgerEntry> further;
  for (const LedgerEntry& entry : Ledger()) {
    // Those of other layouts: families_test.
    if (!entry.core && ReplacesDecode(entry.kernels) &&
        entry.layout == FP8_DS_MLA) {
      further.push_back(entry);
    }
  }
  return further;
}

class FurtherDetection : public testing::TestWithParam<LedgerEntry> {};

TEST_P(FurtherDetection, IsFoundAndNamed) {
  const LedgerEntry& entry = GetParam();
  constexpr int kCases = 20000, kEnough = 3;
  absl::StatusOr<TargetSet> targets = MakeTargetSet(entry.target);
  ASSERT_TRUE(targets.ok()) << targets.status();
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  bool named = entry.key.empty();
  int seen = 0, reached = 0, cases = 0;
  for (; cases < kCases && (seen < kEnough || !named); ++cases) {
    Choices choices(cases);
    const Case c = GenerateCase(choices, kDecodes);
    CaseResult result;
    const absl::Status status = checker.CheckCase(c, {}, &result);
    ASSERT_TRUE(status.ok()) << status;
    const Reach reach = ReachOf(entry, result.image);
    reached += reach.reached;
    bool failed = false, expected = false;
    for (const Check& check : result.checks) {
      if (!IsFailure(check.verdict)) continue;
      failed = true;
      expected |= std::count(entry.properties.begin(), entry.properties.end(),
                             check.property) > 0;
      if (!named) {
        // One case may be a neighbour's as well, named first; of a death
        // without an address a rule that reads outside is possible, and
        // settling names it.
        const Diagnosis why = checker.Why(result, check);
        const auto is = [&](const std::string& key) {
          return absl::StartsWith(key, entry.key);
        };
        named = is(why.key) ||
                std::any_of(why.also.begin(), why.also.end(), is) ||
                std::any_of(why.possible.begin(), why.possible.end(), is);
      }
    }
    seen += expected;
    EXPECT_TRUE(failed || !reach.triggered)
        << "missed by " << entry.target << "\n"
        << FormatCaseText(c);
  }
  EXPECT_GE(seen, kEnough) << entry.target << " was seen in " << seen << " of "
                           << cases;
  EXPECT_TRUE(named) << entry.target << " was never " << entry.key;
  std::printf("%s: %d cases, reached %d, detected %d\n", entry.target.c_str(),
              cases, reached, seen);
}

INSTANTIATE_TEST_SUITE_P(All, FurtherDetection,
                         testing::ValuesIn(FurtherDecodes()), TestName);

// Whatever is right passes: builtin in both scale conventions, its decode in
// every arithmetic, and controls that map their lanes another way. In parts, so
// that they run side by side.
class RightKernels : public testing::TestWithParam<int> {};

constexpr int kParts = 8;

void NeverFlagged(const std::string& name, const GeneratorOptions& options,
                  int first_seed, int cases) {
  absl::StatusOr<TargetSet> targets = MakeTargetSet(name);
  ASSERT_TRUE(targets.ok()) << targets.status();
  std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  for (int i = 0; i < cases; ++i) {
    const int seed = first_seed + i;
    Choices choices(seed);
    const Case c = GenerateCase(choices, options);
    CaseResult result;
    // A relation on every eighth case: each is drawn some hundred times.
    const absl::Status status =
        checker.CheckCase(c,
                          {.relations_per_case = i % 8 == 0,
                           .relation_seed = static_cast<std::uint64_t>(seed)},
                          &result);
    ASSERT_TRUE(status.ok()) << status;
    for (const Check& check : result.checks) {
      ASSERT_FALSE(IsFailure(check.verdict))
          << name << " " << check.property << ": " << check.detail << "\n"
          << FormatCaseText(c);
    }
  }
}

TEST_P(RightKernels, AreNeverFlagged) {
  for (const TargetInfo& target : AllTargets()) {
    if (IsMutant(target.name) || ReplacesDecode(target.replaces)) continue;
    const int cases = (target.name == "builtin" ? 20000 : 1000) / kParts;
    const TargetSet set = *MakeTargetSet(target.name);
    GeneratorOptions options;
    for (const Kernel kernel : target.replaces) {
      TakeWhat(kernel, set.For(kernel)->contract(), options);
      options.layout = set.For(kernel)->contract().layout();
    }
    NeverFlagged(target.name, options, 1000000 + GetParam() * cases, cases);
  }
}

TEST_P(RightKernels, DecodesAreNeverFlagged) {
  for (const TargetInfo& target : AllTargets()) {
    if (target.name != "builtin" &&
        (IsMutant(target.name) || !ReplacesDecode(target.replaces))) {
      continue;
    }
    GeneratorOptions options = kDecodes;
    const TargetSet set = *MakeTargetSet(target.name);
    const Contract& contract = set.For(Kernel::kDecode)->contract();
    options.layout = contract.layout();
    TakeWhat(Kernel::kDecode, contract, options);
    // Of each control a share: all of them is what a campaign is for. Other
    // layouts have a test of their own.
    const bool share =
        target.name.rfind("control:", 0) == 0 || options.layout != FP8_DS_MLA;
    const int cases = (share ? 400 : 4000) / kParts;
    NeverFlagged(target.name, options, 1000000 + GetParam() * cases, cases);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RightKernels, testing::Range(0, kParts));

}  // namespace
}  // namespace mlafuzz
