#ifndef MLAFUZZ_ORACLE_WRONG_STEP_H_
#define MLAFUZZ_ORACLE_WRONG_STEP_H_

#include "corpus/observation.h"
#include "oracle/compared_step.h"
#include "oracle/damage.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// A call that ended well, a check of which failed. Views, as ComparedStep.
struct WrongStep : ComparedStep {
  WrongStep(const ComparedStep& compared, const StepObservation& observed,
            const Check& check)
      : ComparedStep(compared),
        observed(observed),
        check(check),
        matches(Matches(contract, image, index, before, expected, after)) {
    if (!matches) {
      damage = Assess(contract, image, index, before, expected, after);
    }
  }

  const StepObservation& observed;
  const Check& check;
  // Whether all that came back is as expected: what failed is memory safety.
  const bool matches;
  Damage damage;  // of what does not match
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_WRONG_STEP_H_
