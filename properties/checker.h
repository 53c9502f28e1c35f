#ifndef MLAFUZZ_PROPERTIES_CHECKER_H_
#define MLAFUZZ_PROPERTIES_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"

namespace mlafuzz {

struct CheckOptions {
  // Run relations between runs too (each costs one or two reruns): those whose
  // number is drawn from `relation_seed`, about `relations_per_case` a case.
  int relations_per_case = 0;
  std::uint64_t relation_seed = 0;
  // Run every relation that applies.
  bool all_relations = false;
  // Send steps that are unspecified under the target's contract. They are
  // still never judged.
  bool send_unspecified = false;
};

struct CaseResult {
  CaseImage image;          // points into the case that was checked
  Observation observation;  // of the plain run
  // It holds nothing of what exact kernels left, which is what their contracts
  // say (FillLeftOut() of properties/fused/lent_calls.h).
  bool left_out = false;
  std::vector<Check> checks;
};

// The differential core: one function that stages, runs and judges. Everything
// (libFuzzer targets, RapidCheck properties, campaign, replay, minimiser) goes
// through it. A case with an unspecified step is not sent to the target.
class CaseChecker {
 public:
  // Both must outlive the checker.
  CaseChecker(const TargetSet& targets, Executor& executor)
      : targets_(targets), executor_(executor) {}

  // One result a case. All cases of a call run as one batch; verdicts do not
  // depend on how cases are batched. InvalidArgument for a case that does not
  // build.
  absl::Status CheckCases(absl::Span<const Case* const> cases,
                          const CheckOptions& options,
                          std::vector<CaseResult>* results);
  absl::Status CheckCase(const Case& c, const CheckOptions& options,
                         CaseResult* result);
  // The same of cases that are built already, each with options of its own: as
  // many as there are images. `threads` share the judging
  // and what relations make of a case.
  absl::Status CheckImages(std::vector<CaseImage> images,
                           absl::Span<const CheckOptions> options,
                           std::vector<CaseResult>* results, int threads = 1);

  // Why `check` of `result` failed. For a relation's failure too.
  Diagnosis Why(const CaseResult& result, const Check& check) const;

  Contracts contracts() const;

 private:
  // Of the results `sent`.
  absl::Status RunAllRelations(absl::Span<const std::size_t> sent,
                               absl::Span<const CheckOptions> options,
                               int threads, std::vector<CaseResult>* results);

  const TargetSet& targets_;
  Executor& executor_;
};

// The kernel whose call is wrong: the check's own, or one that a relation of it
// called as well.
Kernel BlamedKernel(const Check& check, const Diagnosis& diagnosis);

// One cause, one finding: that kernel, then the diagnosis' key, then (where no
// key says more than "other") the property.
std::string CauseKey(const Check& check, const Diagnosis& diagnosis);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_CHECKER_H_
