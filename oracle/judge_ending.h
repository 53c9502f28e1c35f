#ifndef MLAFUZZ_ORACLE_JUDGE_ENDING_H_
#define MLAFUZZ_ORACLE_JUDGE_ENDING_H_

#include <functional>
#include <string>
#include <vector>

#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/step_validity.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// Why a call that was not made was not: its message, or that there is no such
// kernel.
std::string WhySkipped(Kernel kernel, const StepObservation& observed);

// The verdicts of one step that are the same for every kernel: on how the call
// ended, not on what it returned.
class EndingJudge {
 public:
  // `observed` and `checks` must outlive it.
  EndingJudge(int step, Kernel kernel, const StepObservation& observed,
              std::vector<Check>* checks)
      : step_(step), kernel_(kernel), observed_(observed), checks_(checks) {}

  void Add(const char* property, Verdict verdict, std::string detail = "",
           double of_bound = 0);

  // A process that died, hung or spoke nonsense is its own verdict. False: it
  // did not.
  bool EndedAbnormally();

  // The observation's buffers have other sizes than the case's.
  void Malformed();

  // An invalid call must be refused with a reason and without a trace; a valid
  // one must be taken, and come to an end. False: it did, and its result is
  // still to be judged. `trace`: what a refused call changed, in words; empty
  // if nothing.
  bool EndedWithoutResult(const StepValidity& validity,
                          const std::function<std::string()>& trace);

  // Guards, inputs and sanitizers; `otherwise` if they say nothing.
  void JudgeMemory(Verdict otherwise);

 private:
  void JudgeNoTrace(const std::function<std::string()>& trace);

  const int step_;
  const Kernel kernel_;
  const StepObservation& observed_;
  std::vector<Check>* checks_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_JUDGE_ENDING_H_
