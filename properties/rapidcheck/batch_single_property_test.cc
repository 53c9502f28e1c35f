// No row of a call sees another, and no case of a batch another.
#include <vector>

#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(BatchSingle, RowsAreIndependent, ()) {
  RelationHolds(*ArbitraryCase({.invalid = false}), "batch-single");
}

RC_GTEST_PROP(BatchSingle, CasesAreIndependent, ()) {
  const std::vector<Case> cases =
      *rc::gen::container<std::vector<Case>>(4, ArbitraryCase({}));
  std::vector<const Case*> pointers;
  for (const Case& c : cases) pointers.push_back(&c);
  CaseChecker checker(KernelsUnderTest(), PropertyExecutor());
  std::vector<CaseResult> together;
  RC_ASSERT(checker.CheckCases(pointers, {}, &together).ok());
  RC_ASSERT(together.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseResult alone = Run(cases[i]);
    RC_ASSERT(alone.checks.size() == together[i].checks.size());
    for (std::size_t k = 0; k < alone.checks.size(); ++k) {
      RC_ASSERT(alone.checks[k].property == together[i].checks[k].property);
      RC_ASSERT(alone.checks[k].verdict == together[i].checks[k].verdict);
      RC_ASSERT(alone.checks[k].detail == together[i].checks[k].detail);
    }
  }
}

}  // namespace
}  // namespace mlafuzz
