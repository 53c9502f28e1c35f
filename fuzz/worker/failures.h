#ifndef MLAFUZZ_FUZZ_WORKER_FAILURES_H_
#define MLAFUZZ_FUZZ_WORKER_FAILURES_H_

#include <array>
#include <optional>
#include <vector>

#include "fuzz/worker/worker.pb.h"
#include "properties/checker.h"

namespace mlafuzz {

// One failing check with its cause; with both, where it takes two rules to
// explain it (oracle/two_rules.h), each as a failure beside the other.
std::vector<Failure> DescribeFailure(const CaseChecker& checker,
                                     const CaseResult& result,
                                     const Check& check, bool explain);

// Both rules of a check of which `why` names no cause; nothing if there are
// none, or the check is a relation's.
std::optional<std::array<Diagnosis, 2>> TwoRulesOf(const CaseChecker& checker,
                                                   const CaseResult& result,
                                                   const Check& check,
                                                   const Diagnosis& why);

// The failing checks of each step that say something of their own: those of
// the plain run, or, where that passed, those of relations between runs (which
// any fault of the plain run breaks as well).
std::vector<std::vector<const Check*>> FailuresBySteps(
    const CaseResult& result);

// The same with causes, one a cause, in order.
std::vector<Failure> DescribeFailures(const CaseChecker& checker,
                                      const CaseResult& result, bool explain);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FAILURES_H_
