#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "corpus/contracts.h"
#include "oracle/cause_keys.h"
#include "oracle/damage.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"
#include "oracle/judge.h"
#include "oracle/other_reading.h"
#include "oracle/pool_history.h"

namespace mlafuzz {
namespace {

// The contract with the fields of "a=X+b=Y" changed; none for a pattern, or a
// value that is no neighbour.
std::optional<Contract> Changed(const Contract& base, Kernel kernel,
                                absl::string_view key) {
  Contract contract = base;
  for (const absl::string_view part : absl::StrSplit(key, '+')) {
    bool found = false;
    for (Neighbour& n : Neighbours(contract, kernel)) {
      if (part != oracle::KeyOf(n)) continue;
      contract = std::move(n.contract);
      found = true;
      break;
    }
    if (!found) return std::nullopt;
  }
  return contract;
}

// Whether the call left a byte of its own behind.
bool Wrote(const StepImage& step, const oracle::PoolHistory& history,
           const StepObservation& observed) {
  oracle::AfterImage after;
  return oracle::AfterImageOf(step, observed, history.after(), &after) &&
         !oracle::NothingChanged(step, history.before(), after);
}

}  // namespace

bool RulesOut(const Contracts& contracts, const CaseImage& image,
              const Observation& observation, int step, absl::string_view key) {
  const std::size_t at = static_cast<std::size_t>(step);
  const Kernel kernel = image.steps[at].kernel;
  const Contract& declared = *contracts[static_cast<std::size_t>(kernel)];
  const StepObservation& observed = observation.steps[at];
  if (key == oracle::kRefusedValid) return observed.status == CallStatus::kOk;
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, step);
  if (key == kNothingWritten) {
    return Wrote(image.steps[at], history, observed);
  }
  const std::optional<Contract> other = Changed(declared, kernel, key);
  if (oracle::IsNarrowedRule(key)) {
    oracle::AfterImage after;
    return observed.status == CallStatus::kOk &&
           oracle::AfterImageOf(image.steps[at], observed, history.after(),
                                &after) &&
           oracle::RulesOutNarrowedRule(declared, image, step, history.before(),
                                        after, key);
  }
  if (!other.has_value()) {
    return kernel == Kernel::kDecode &&
           RulesOutDecodeFault(declared, image, step, history.before(),
                               observed, key);
  }
  // Rows that the rule sends outside would lie in a guard, or have ended the
  // process.
  if (kernel != Kernel::kDecode && observed.status == CallStatus::kOk &&
      observed.strays.empty() && observed.reports.empty() &&
      Expect(*other, image, step, history.before()).outside_writes > 0) {
    return true;
  }
  Contracts changed = contracts;
  changed[static_cast<std::size_t>(kernel)] = &*other;
  for (const Check& check : Judge(changed, image, observation)) {
    if (check.step == step && IsFailure(check.verdict)) return true;
  }
  return false;
}

bool CanBeRuledOut(absl::string_view key) {
  return absl::StrContains(key, "=") || key == oracle::kRefusedValid ||
         key == kNothingWritten || oracle::IsNarrowedRule(key) ||
         oracle::IsDecodeFault(key);
}

}  // namespace mlafuzz
