#include "fuzz/worker/failures.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oracle/two_rules.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

Failure Describe(const CaseChecker& checker, const CaseResult& result,
                 const Check& check, const Diagnosis& why, bool explain) {
  Failure failure;
  failure.set_kernel(KernelName(BlamedKernel(check, why)));
  failure.set_property(check.property);
  failure.set_verdict(VerdictName(check.verdict));
  failure.set_field(why.field);
  failure.set_key(CauseKey(check, why));
  for (const std::string& key : why.also) {
    failure.add_also(absl::StrCat(failure.kernel(), "/", key));
  }
  for (const std::string& key : why.possible) {
    failure.add_possible(absl::StrCat(failure.kernel(), "/", key));
  }
  failure.set_says_little(why.says_little);
  failure.set_cause(why.cause);
  failure.set_detail(check.detail);
  failure.set_step(check.step);
  if (explain) {
    failure.set_explanation(
        Explain(checker.contracts(), result.image, result.observation, check));
  }
  return failure;
}

}  // namespace

std::optional<std::array<Diagnosis, 2>> TwoRulesOf(const CaseChecker& checker,
                                                   const CaseResult& result,
                                                   const Check& check,
                                                   const Diagnosis& why) {
  if (IsRelation(check.property)) return std::nullopt;
  return DiagnoseTwoRules(checker.contracts(), result.image, result.observation,
                          check, why);
}

std::vector<Failure> DescribeFailure(const CaseChecker& checker,
                                     const CaseResult& result,
                                     const Check& check, bool explain) {
  const Diagnosis why = checker.Why(result, check);
  const auto both = TwoRulesOf(checker, result, check, why);
  if (!both.has_value()) {
    return {Describe(checker, result, check, why, explain)};
  }
  std::vector<Failure> failures;
  for (const Diagnosis& one : *both) {
    failures.push_back(Describe(checker, result, check, one, explain));
  }
  failures[0].set_beside(failures[1].key());
  failures[1].set_beside(failures[0].key());
  return failures;
}

std::vector<std::vector<const Check*>> FailuresBySteps(
    const CaseResult& result) {
  std::map<int, std::vector<const Check*>> plain, relations;
  for (const Check& check : result.checks) {
    if (!IsFailure(check.verdict)) continue;
    (IsRelation(check.property) ? relations : plain)[check.step].push_back(
        &check);
  }
  for (const auto& [step, checks] : relations) plain.insert({step, checks});
  std::vector<std::vector<const Check*>> steps;
  for (auto& [step, checks] : plain) steps.push_back(std::move(checks));
  return steps;
}

std::vector<Failure> DescribeFailures(const CaseChecker& checker,
                                      const CaseResult& result, bool explain) {
  std::vector<Failure> failures;
  for (const auto& step : FailuresBySteps(result)) {
    for (const Check* check : step) {
      for (Failure& failure :
           DescribeFailure(checker, result, *check, explain)) {
        if (std::none_of(failures.begin(), failures.end(),
                         [&failure](const Failure& f) {
                           return f.key() == failure.key();
                         })) {
          failures.push_back(std::move(failure));
        }
      }
    }
  }
  return failures;
}

}  // namespace mlafuzz
