// Every stored case builds and is right on the builtin kernels: the small ones
// and the regressions under every relation too. Decodes are right in every
// arithmetic, and together they show every rule of a decode's contract.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/expect.h"
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

Case Read(const std::string& path) {
  absl::StatusOr<Case> c = ReadCase(path);
  EXPECT_TRUE(c.ok()) << path << ": " << c.status();
  return c.ok() ? *std::move(c) : Case();
}

bool Decodes(const Case& c) {
  return std::any_of(c.steps().begin(), c.steps().end(),
                     [](const Step& step) { return step.has_decode(); });
}

struct Which {
  bool relations = false;
  bool only_decodes = false;
};

void ExpectRight(const std::string& target, const std::string& folder,
                 Which which) {
  SCOPED_TRACE(target);
  absl::StatusOr<TargetSet> targets = MakeTargetSet(target);
  ASSERT_TRUE(targets.ok());
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  CaseChecker checker(*targets, *executor);
  const std::vector<std::string> paths = CasesIn(folder);
  EXPECT_GT(paths.size(), 2u) << folder;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Case c = Read(path);
    if (which.only_decodes && !Decodes(c)) continue;
    CaseResult result;
    const absl::Status status =
        checker.CheckCase(c, {.all_relations = which.relations}, &result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_FALSE(result.checks.empty());
    for (const Check& check : result.checks) {
      EXPECT_FALSE(IsFailure(check.verdict))
          << check.property << ": " << check.detail;
      EXPECT_NE(check.verdict, Verdict::kUnspecified) << check.detail;
    }
  }
}

TEST(StoredCases, Small) {
  ExpectRight("builtin", "corpus/small", {.relations = true});
}
TEST(StoredCases, Regressions) {
  ExpectRight("builtin", "corpus/regressions", {.relations = true});
}
// Those of other layouts: on the target that their names begin with.
TEST(StoredCases, Layouts) {
  const std::pair<const char*, const char*> targets[] = {
      {"indexer-256", "builtin:indexer-256"}, {"indexer", "builtin:indexer"},
      {"dsv4_1", "builtin:dsv4_1"},           {"dsv4", "builtin:dsv4"},
      {"nope-row", "builtin:nope-row"},
  };
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  for (const std::string& path : CasesIn("corpus/layouts")) {
    SCOPED_TRACE(path);
    const std::string name = std::filesystem::path(path).stem().string();
    const auto* const found =
        std::find_if(std::begin(targets), std::end(targets),
                     [&](auto& t) { return name.rfind(t.first, 0) == 0; });
    ASSERT_NE(found, std::end(targets));
    absl::StatusOr<TargetSet> set = MakeTargetSet(found->second);
    ASSERT_TRUE(set.ok());
    CaseChecker checker(*set, *executor);
    CaseResult result;
    const Case c = Read(path);
    ASSERT_TRUE(checker.CheckCase(c, {.all_relations = true}, &result).ok());
    int passed = 0;
    for (const Check& check : result.checks) {
      EXPECT_FALSE(IsFailure(check.verdict))
          << check.property << ": " << check.detail;
      EXPECT_NE(check.verdict, Verdict::kUnspecified) << check.detail;
      passed += check.verdict == Verdict::kPass;
    }
    EXPECT_GT(passed, 0);
  }
}
TEST(StoredCases, Large) { ExpectRight("builtin", "corpus/large", {}); }

TEST(StoredCases, DecodesInEveryArithmetic) {
  int targets = 0;
  for (const TargetInfo& info : AllTargets()) {
    if (info.name.rfind("builtin:", 0) != 0 ||
        info.replaces != std::vector<Kernel>{Kernel::kDecode}) {
      continue;
    }
    if (MakeTargetSet(info.name)->For(Kernel::kDecode)->contract().layout() !=
        FP8_DS_MLA) {
      continue;  // other cases
    }
    ++targets;
    ExpectRight(info.name, "corpus/small", {.only_decodes = true});
    ExpectRight(info.name, "corpus/regressions",
                {.relations = true, .only_decodes = true});
  }
  EXPECT_GE(targets, 5);
}

// The fields of the decode's contract that a case's decodes inform about.
std::set<std::string> FieldsOf(const Case& c) {
  absl::StatusOr<CaseImage> image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status();
  const Contract builtin = BuiltinContract();
  std::set<std::string> fields;
  std::vector<std::uint8_t> pool = image->pool.bytes;
  for (int i = 0; i < static_cast<int>(image->steps.size()); ++i) {
    if (image->steps[i].kernel == Kernel::kDecode) {
      for (const std::string& field :
           InformativeDecodeFields(builtin, *image, i, pool)) {
        // Any call without lengths shows this one.
        if (field != "decode.lengths_demand") fields.insert(field);
      }
    } else if (std::vector<std::uint8_t> after =
                   Expect(builtin, *image, i, pool).pool;
               !after.empty()) {
      pool = std::move(after);
    }
  }
  return fields;
}

TEST(StoredCases, SmallDecodesShowEveryRule) {
  std::set<std::string> shown, silent;
  for (const std::string& path : CasesIn("corpus/small")) {
    const Case c = Read(path);
    const std::string name = std::filesystem::path(path).stem().string();
    if (!Decodes(c) || name.rfind("refuse-", 0) == 0) continue;
    const std::set<std::string> fields = FieldsOf(c);
    std::printf("%-36s", name.c_str());
    for (const std::string& field : fields) std::printf(" %s", field.c_str());
    std::printf("\n");
    shown.insert(fields.begin(), fields.end());
    if (fields.empty()) silent.insert(name);
  }
  for (const Neighbour& n : Neighbours(BuiltinContract(), Kernel::kDecode)) {
    // What a tail that is read as rope meets is nobody's word, so no output is
    // wrong for sure; two poisons tell.
    if (n.field == "decode.nope_tail" || n.field == "decode.lengths_demand") {
      continue;
    }
    EXPECT_EQ(shown.count(n.field), 1u) << n.field;
  }
  // NaN whatever the rule, or nothing to do.
  EXPECT_EQ(silent,
            (std::set<std::string>{"decode-nan-code", "decode-no-queries"}));
}

}  // namespace
}  // namespace mlafuzz
