#include "properties/rapidcheck/kernels_under_test.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "kernels/foreign/executor.h"
#include "properties/relations.h"
#include "rapidcheck.h"

namespace mlafuzz {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

// A property of kernels that the target does not have says nothing.
class SkipsWhatIsMissing : public testing::Environment {
 public:
  void SetUp() override {
    const char* needed = std::getenv("PROPERTY_KERNELS");
    if (needed == nullptr) return;
    for (const Kernel kernel : kAllKernels) {
      const std::vector<std::string> names = absl::StrSplit(needed, ' ');
      if (std::find(names.begin(), names.end(), KernelName(kernel)) ==
              names.end() ||
          KernelsUnderTest().For(kernel)->Implements(kernel)) {
        continue;
      }
      GTEST_SKIP() << KernelsUnderTest().For(kernel)->name()
                   << " implements no " << KernelName(kernel);
    }
  }
};
[[maybe_unused]] testing::Environment* const kSkips =
    testing::AddGlobalTestEnvironment(new SkipsWhatIsMissing);

}  // namespace

const TargetSet& KernelsUnderTest() {
  static const TargetSet* const kTargets = [] {
    const char* name = std::getenv("MLAFUZZ_TARGET");
    absl::StatusOr<TargetSet> set =
        MakeTargetSet(name != nullptr && *name != '\0' ? name : "builtin");
    if (!set.ok()) Die(set.status());
    return new TargetSet(*set);
  }();
  return *kTargets;
}

Executor& PropertyExecutor() {
  static Executor* const kExecutor = MakeExecutor(KernelsUnderTest()).release();
  return *kExecutor;
}

CaseResult Run(const Case& c, bool relations) {
  CaseChecker checker(KernelsUnderTest(), PropertyExecutor());
  CaseResult result;
  if (absl::Status s =
          checker.CheckCase(c, {.all_relations = relations}, &result);
      !s.ok()) {
    Die(s);
  }
  return result;
}

void HoldsFor(const Case& c, std::initializer_list<const char*> properties) {
  const CaseResult result = Run(c);
  for (const Check& check : result.checks) {
    bool asked = properties.size() == 0;
    for (const char* property : properties) asked |= check.property == property;
    if (!asked || !IsFailure(check.verdict)) continue;
    RC_LOG() << KernelName(check.kernel) << " of step " << check.step << ", "
             << check.property << ": " << check.detail << "\n";
    RC_FAIL("the property does not hold");
  }
}

namespace {

// False: it does not apply, or what it looks at did not end well.
bool Holds(const TargetSet& targets, const Case& c, const std::string& name) {
  CaseChecker checker(targets, PropertyExecutor());
  CaseResult result;
  if (absl::Status s = checker.CheckCase(c, {}, &result); !s.ok()) Die(s);
  const Contracts contracts = checker.contracts();
  bool applied = false;
  for (const Relation& r : AllRelations()) {
    if (name != r.name || !r.applies(targets, contracts, result.image))
      continue;
    std::vector<Check> checks;
    const absl::Status status =
        r.run(targets, PropertyExecutor(), contracts, result.image,
              result.observation, CaseHash(c), &checks);
    if (!status.ok()) Die(status);
    for (const Check& check : checks) {
      applied |= check.verdict != Verdict::kSkipped;
      if (!IsFailure(check.verdict)) continue;
      RC_LOG() << KernelName(check.kernel) << " of step " << check.step << ": "
               << check.detail << "\n";
      RC_FAIL("the relation does not hold");
    }
  }
  return applied;
}

// Every right decode, or what MLAFUZZ_TARGET names.
const std::vector<TargetSet>& DecodesUnderTest() {
  static const std::vector<TargetSet>* const kDecodes = [] {
    auto* decodes = new std::vector<TargetSet>(1, KernelsUnderTest());
    const char* name = std::getenv("MLAFUZZ_TARGET");
    if (name != nullptr && *name != '\0') return decodes;
    for (const TargetInfo& target : AllTargets()) {
      if (target.name.rfind("builtin:", 0) != 0) continue;
      absl::StatusOr<TargetSet> set = MakeTargetSet(target.name);
      if (!set.ok()) Die(set.status());
      // Those of the layout whose cases are drawn.
      if (set->For(Kernel::kDecode)->contract().layout() != FP8_DS_MLA) {
        continue;
      }
      decodes->push_back(*set);
    }
    return decodes;
  }();
  return *kDecodes;
}

}  // namespace

// What does not end well has other checks; what has nothing to compare is no
// evidence.
void RelationHolds(const Case& c, const std::string& name) {
  RC_PRE(Holds(KernelsUnderTest(), c, name));
}

void DecodeRelationHolds(const Case& c, const std::string& name) {
  bool applied = false;
  for (const TargetSet& targets : DecodesUnderTest()) {
    applied |= Holds(targets, c, name);
  }
  RC_PRE(applied);
}

}  // namespace mlafuzz
