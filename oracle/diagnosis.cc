#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/cause_keys.h"
#include "oracle/compared_step.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/diagnose_ending.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"
#include "oracle/first_seen.h"
#include "oracle/judge.h"
#include "oracle/name_damage.h"
#include "oracle/neighbour_fit.h"
#include "oracle/other_reading.h"
#include "oracle/pool_history.h"
#include "oracle/repeats_input.h"
#include "oracle/some_rows.h"
#include "oracle/wrong_step.h"

// How a cause is found:
//   1. A call that did not end as it should is explained by how it ended
//      (diagnose_ending.h); a death by a rule only if that rule accesses the
//      address that was its end.
//   2. Every contract with one other rule is asked what it would have left
//      behind (neighbour_fit.h). The first that predicts the after-image bit
//      for bit is the cause. Weaker evidence comes after: a rule that reads or
//      writes outside what the oracle sees, right in all bytes that it does
//      see, where it was seen to.
//   3. If none does, the call is read in other ways that no rule describes
//      (other_reading.h: a stride taken from a shape, tiles in each other's
//      place). If none of them predicts the after-image either, the damage
//      itself is given a name (name_damage.h). Rules that forbid nothing of it,
//      but predict nothing either, are kept as possible.
namespace mlafuzz {
namespace {

using oracle::AddAlso;
using oracle::Fit;
using oracle::IsOfACall;
using oracle::KeyOf;
using oracle::OtherReading;
using oracle::WrongStep;

// Rules that explain the step, the best first; of equals the first named. Keys
// of rules that only may go to `possible`.
std::vector<std::pair<Fit, const Neighbour*>> RulesThatExplain(
    const WrongStep& wrong, const std::vector<Neighbour>& neighbours,
    std::vector<std::string>* possible) {
  std::vector<std::pair<Fit, const Neighbour*>> explain;
  for (const Neighbour& n : neighbours) {
    if (n.field == "writer.zero_tokens") continue;
    const Fit fit = FitOf(n, wrong);
    if (fit == Fit::kNone) continue;
    if (fit == Fit::kPossible) {
      possible->push_back(KeyOf(n));
    } else {
      explain.emplace_back(fit, &n);
    }
  }
  const auto best = std::min_element(
      explain.begin(), explain.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  if (best != explain.end()) {
    std::rotate(explain.begin(), best, best + 1);
  }
  return explain;
}

// A rule that is kept under a condition which some rows of the call meet.
Diagnosis InSomeRows(const WrongStep& wrong,
                     const std::vector<Neighbour>& neighbours,
                     const std::vector<std::string>& possible) {
  Diagnosis first;
  if (wrong.matches || !wrong.observed.strays.empty() ||
      !wrong.observed.reports.empty()) {
    return first;
  }
  // A reading that predicts the whole call says under which.
  for (const OtherReading& reading : OtherReadings(wrong)) {
    if (reading.key != oracle::kBytesMissing) return first;
  }
  for (const Neighbour& n : neighbours) {
    if (n.field == "writer.zero_tokens") continue;
    const std::int64_t rows = oracle::RowsUnderOtherRule(
        wrong.image, wrong.index, wrong.before, wrong.expected,
        Expect(n.contract, wrong.image, wrong.index, wrong.before),
        wrong.after);
    if (rows == 0) continue;
    if (first.key.empty()) {
      first = oracle::BehavesAs(
          n, absl::StrCat(
                 FirstSeen(wrong), "; so in ", rows,
                 wrong.step.kernel == Kernel::kConvert ? " elements" : " rows",
                 " where it would show, not in all"));
      first.exact = true;
      first.possible = possible;
    } else {
      AddAlso(first, KeyOf(n));
    }
  }
  return first;
}

// No key if no rule explains it; then `possible` has what may.
Diagnosis ByNeighbour(const WrongStep& wrong,
                      std::vector<std::string>* possible) {
  const std::vector<Neighbour> neighbours =
      Neighbours(wrong.contract, wrong.step.kernel);
  const auto explain = RulesThatExplain(wrong, neighbours, possible);
  if (explain.empty()) return InSomeRows(wrong, neighbours, *possible);
  const auto [fit, best] = explain[0];
  std::string others;
  for (std::size_t i = 1; i < explain.size(); ++i) {
    absl::StrAppend(&others, others.empty() ? "" : ", ",
                    KeyOf(*explain[i].second));
  }
  std::string seen = FirstSeen(wrong);
  if (!others.empty()) {
    absl::StrAppend(&seen, " (explained as well by ", others, ")");
  }
  Diagnosis d = oracle::BehavesAs(*best, seen);
  if (!wrong.matches && NothingChanged(wrong.step, wrong.before, wrong.after)) {
    d.also.push_back(kNothingWritten);
  }
  if (!wrong.matches && RowsThatRepeatInput(wrong, /*wrong=*/true) > 0) {
    d.also.push_back(oracle::kRepeatsInput);
  }
  for (const auto& [_, n] : explain) AddAlso(d, KeyOf(*n));
  // Rules that are kept under a condition, which all of this call may meet.
  if (!wrong.matches) {
    for (const OtherReading& narrowed : NarrowedRules(wrong)) {
      AddAlso(d, narrowed.key);
    }
  }
  // Where the name itself rests on little, what is possible is kept.
  if (fit != Fit::kExact) d.possible = *possible;
  d.exact = fit != Fit::kUnsettled;
  return d;
}

// A damage is only what is seen of a cause. Where another reading of the call
// predicts all of it, that is the name; the damage stays possible, as another
// case of the same fault may show no more.
Diagnosis ByDamage(const WrongStep& wrong, std::vector<std::string> possible) {
  Diagnosis damage = NameDamage(wrong);
  damage.possible = std::move(possible);
  if (wrong.matches || damage.key == kNothingWritten) return damage;
  // A slot may be the token's number by chance, or what stood there: a rule
  // that says so for every element is the better name.
  const bool is_claim =
      damage.key == oracle::kRepeatsInput || damage.key == oracle::kMissingRows;
  const std::vector<OtherReading> readings =
      is_claim ? NarrowedRules(wrong) : OtherReadings(wrong);
  if (readings.empty()) return damage;
  Diagnosis d = oracle::Pattern(
      readings[0].key, absl::StrCat(readings[0].words, ": ", FirstSeen(wrong)));
  for (std::size_t i = 1; i < readings.size(); ++i) {
    AddAlso(d, readings[i].key);
  }
  d.possible = std::move(damage.possible);
  if (is_claim) {
    AddAlso(d, damage.key);
  } else {
    d.possible.push_back(std::move(damage.key));
  }
  for (const std::string& key : damage.also) AddAlso(d, key);
  return d;
}

// Whether every byte that is wrong is what stood there before.
bool IsWhatWas(const WrongStep& wrong) {
  const auto is = [](absl::Span<const std::uint8_t> want,
                     absl::Span<const std::uint8_t> got,
                     absl::Span<const std::uint8_t> before) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (got[i] != want[i] && got[i] != before[i]) return false;
    }
    return true;
  };
  if (!is(wrong.wanted_pool(), wrong.after.pool, wrong.before)) return false;
  for (std::size_t i = 0; i < wrong.step.tensors.size(); ++i) {
    const Tensor& tensor = wrong.step.tensors[i];
    if (tensor.output &&
        !is(wrong.expected.outputs[i], wrong.after.outputs[i], tensor.bytes)) {
      return false;
    }
  }
  return true;
}

// Of a step that is no decode.
Diagnosis DiagnoseStep(const Contract& contract, const CaseImage& image,
                       int step, const oracle::PoolHistory& history,
                       const StepObservation& observed, const Check& check) {
  oracle::AfterImage after;
  const bool seen =
      oracle::AfterImageOf(image.steps[static_cast<std::size_t>(step)],
                           observed, history.after(), &after);
  if (Diagnosis d =
          oracle::DiagnoseEnding(contract, image, step, history.before(),
                                 observed, seen ? &after : nullptr, check);
      !d.key.empty()) {
    return d;
  }
  if (!seen) return oracle::Pattern("protocol", check.detail);
  const Expectation expected = Expect(contract, image, step, history.before());
  const WrongStep wrong(
      {contract, image, step, history.before(), expected, after}, observed,
      check);
  std::vector<std::string> possible;
  Diagnosis d = ByNeighbour(wrong, &possible);
  if (d.key.empty()) d = ByDamage(wrong, std::move(possible));
  d.says_little = !wrong.matches && IsWhatWas(wrong);
  return d;
}

}  // namespace

Diagnosis Diagnose(const Contracts& contracts, const CaseImage& image,
                   const Observation& observation, const Check& check) {
  if (!IsOfACall(check, image, observation)) {
    return {.field = "",
            .key = check.verdict == Verdict::kProtocol ? "protocol" : "other",
            .cause = check.detail};
  }
  const std::size_t step = static_cast<std::size_t>(check.step);
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, check.step);
  const Contract& contract =
      *contracts[static_cast<std::size_t>(image.steps[step].kernel)];
  if (image.steps[step].kernel == Kernel::kDecode) {
    return DiagnoseDecode(contract, image, check.step, history.before(),
                          observation.steps[step], check);
  }
  return DiagnoseStep(contract, image, check.step, history,
                      observation.steps[step], check);
}

}  // namespace mlafuzz
