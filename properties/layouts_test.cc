// The kernels of every layout are right on whatever is drawn for it, and what
// is drawn shows each rule that the layout has.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"
#include "properties/checker.h"
#include "properties/fields.h"
#include "properties/generate.h"
#include "properties/generate_for.h"
#include "properties/layout_pool.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

struct LayoutTarget {
  const char* target;
  Layout layout;
};

constexpr LayoutTarget kTargets[] = {
    {"builtin:nope-row", NOPE_ROW_528},
    {"builtin:dsv4", DSV4_FOOTER_584},
    {"builtin:dsv4-packer", DSV4_FOOTER_584},
    {"builtin:dsv4-byte-gather", DSV4_FOOTER_584},
    {"builtin:flashmla-dsv4", DSV4_FOOTER_584},
    {"builtin:dsv4-scale-ends", DSV4_FOOTER_584},
    {"builtin:flashinfer-dsv4", DSV4_FOOTER_584},
    {"builtin:glm53-nope", NOPE_ROW_528},
    {"builtin:dsv4_1", DSV4_1_FOOTER_528},
    {"builtin:indexer", INDEXER_132},
    {"builtin:indexer-ue8m0", INDEXER_132},
    {"builtin:indexer-256", INDEXER_264},
};

class EachTarget : public testing::TestWithParam<LayoutTarget> {
 protected:
  EachTarget()
      : targets_(*MakeTargetSet(GetParam().target)),
        executor_(MakeHostExecutor()),
        checker_(targets_, *executor_) {
    options_.layout = GetParam().layout;
    options_.convert = false;
    options_.decode = IsDecoded(options_.layout);
    for (const Kernel kernel : kAllKernels) {
      TakeWhat(kernel, targets_.For(kernel)->contract(), options_);
    }
  }

  TargetSet targets_;
  std::unique_ptr<Executor> executor_;
  CaseChecker checker_;
  GeneratorOptions options_;
};

// Cases a target; --test_env=LAYOUT_CASES=100000 for a longer run.
int Cases() {
  const char* cases = std::getenv("LAYOUT_CASES");
  return cases != nullptr ? std::atoi(cases) : 1500;
}

TEST_P(EachTarget, IsRight) {
  const int most = Cases();
  std::map<Verdict, int> verdicts;
  std::set<std::uint64_t> distinct;
  for (int seed = 0; static_cast<int>(distinct.size()) < most; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, options_);
    if (!distinct.insert(CaseHash(c)).second) continue;
    Case repaired = c;
    RepairCase(repaired, options_);
    ASSERT_EQ(repaired.SerializeAsString(), c.SerializeAsString())
        << FormatCaseText(c);
    CaseResult result;
    const absl::Status status =
        checker_.CheckCase(c, {.all_relations = seed % 8 == 0}, &result);
    ASSERT_TRUE(status.ok()) << status << FormatCaseText(c);
    for (const Check& check : result.checks) {
      ++verdicts[check.verdict];
      ASSERT_FALSE(IsFailure(check.verdict))
          << check.property << ": " << check.detail << "\n"
          << FormatCaseText(c);
      // Of its calls relations make calls that it must answer.
      ASSERT_EQ(check.detail.find("the rerun is"), std::string::npos)
          << check.property << ": " << check.detail << "\n"
          << FormatCaseText(c);
      // Slots below -1 are the caller's duty under that convention alone.
      if (std::string(GetParam().target) != "builtin:dsv4-packer") {
        ASSERT_NE(check.verdict, Verdict::kUnspecified) << check.detail << "\n"
                                                        << FormatCaseText(c);
      }
    }
  }
  std::printf("%zu distinct cases, %d checks passed\n", distinct.size(),
              verdicts[Verdict::kPass]);
  EXPECT_GT(verdicts[Verdict::kPass], most);
}

// The fields of the builtin contract that the steps of a case inform about.
std::set<std::string> FieldsShown(const Contract& contract, const Case& c) {
  const absl::StatusOr<CaseImage> image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status() << FormatCaseText(c);
  std::set<std::string> shown;
  for (int i = 0; i < static_cast<int>(image->steps.size()); ++i) {
    if (image->steps[i].is_patch) continue;
    const Validity validity = Classify(contract, *image, i).validity;
    if (validity != Validity::kValid && validity != Validity::kBoundary) {
      continue;
    }
    for (const std::string& field :
         InformativeFields(contract, *image, i, image->pool.bytes)) {
      shown.insert(field);
    }
  }
  return shown;
}

TEST_P(EachTarget, CasesMadeForAFieldShowIt) {
  // They are the same for all targets of a layout.
  for (const LayoutTarget& target : kTargets) {
    if (target.layout != GetParam().layout) continue;
    if (std::string(target.target) == GetParam().target) break;
    return;
  }
  constexpr int kMade = 100;
  GeneratorOptions plain;
  plain.layout = options_.layout;
  plain.convert = false;
  plain.decode = options_.decode;
  const Contract contract = BuiltinContract(GetParam().layout);
  for (int i = 0; i < static_cast<int>(AllFields().size()); ++i) {
    const Field& field = AllFields()[static_cast<std::size_t>(i)];
    if (field.kernel == Kernel::kConvert) continue;
    if (!CanGenerateFor(i, GetParam().layout)) continue;
    int shows = 0;
    for (int seed = 0; seed < kMade; ++seed) {
      Choices choices(1000 * i + seed);
      const Case c = GenerateFor(i, choices, plain);
      shows += static_cast<int>(FieldsShown(contract, c).count(field.name));
    }
    std::printf("%-26s %3d of %3d\n", field.name.c_str(), shows, kMade);
    EXPECT_GE(shows, kMade * 8 / 10) << field.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachTarget, testing::ValuesIn(kTargets),
                         [](const auto& info) {
                           std::string name = info.param.target;
                           for (char& c : name) {
                             if (c == ':' || c == '-') c = '_';
                           }
                           return name;
                         });

// Every target that names a layout is one of those above.
TEST(LayoutTargets, AreAllTested) {
  std::set<std::string> tested;
  for (const LayoutTarget& target : kTargets) tested.insert(target.target);
  for (const TargetInfo& info : AllTargets()) {
    if (info.name.rfind("builtin", 0) != 0) continue;
    const TargetSet set = *MakeTargetSet(info.name);
    const Layout layout = set.For(Kernel::kWriter)->contract().layout();
    EXPECT_EQ(layout != FP8_DS_MLA, tested.count(info.name) > 0) << info.name;
  }
}

}  // namespace
}  // namespace mlafuzz
