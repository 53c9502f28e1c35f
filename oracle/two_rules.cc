#include "oracle/two_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/cause_keys.h"
#include "oracle/damage.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"
#include "oracle/other_reading.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// One rule with another value.
struct Change {
  std::string key;
  std::string field;
  std::string words;
  Contract contract;  // with that field changed alone
  // Of each wrong element, whether this change alone foretells what came back.
  std::vector<bool> explains;
};

using Pair = std::pair<std::size_t, std::size_t>;  // of numbers of changes

std::vector<Change> RuleChanges(const Contract& contract, Kernel kernel) {
  std::vector<Change> changes;
  for (Neighbour& n : Neighbours(contract, kernel)) {
    // An empty grid is no matter of bytes.
    if (n.field == "writer.zero_tokens") continue;
    Change change;
    change.key = oracle::KeyOf(n);
    change.words = absl::StrCat(n.field, ": the contract says ", n.declared,
                                ", the kernel behaves as ", n.changed);
    change.field = std::move(n.field);
    change.contract = std::move(n.contract);
    changes.push_back(std::move(change));
  }
  return changes;
}

// Whether each explains a part of what is wrong, by itself, that the other does
// not, and both explain all. Two rules that explain an element only together
// are too many to choose from: some pair always would.
bool Share(const Change& a, const Change& b) {
  bool only_a = false, only_b = false;
  for (std::size_t i = 0; i < a.explains.size(); ++i) {
    if (!a.explains[i] && !b.explains[i]) return false;
    only_a |= a.explains[i] && !b.explains[i];
    only_b |= b.explains[i] && !a.explains[i];
  }
  return only_a && only_b;
}

// The contract with both changed; none of two values of one field, or of a
// value that the first one leaves no room for.
std::optional<Contract> Both(const Change& a, const Change& b, Kernel kernel) {
  if (a.field == b.field) return std::nullopt;
  for (Neighbour& n : Neighbours(a.contract, kernel)) {
    if (b.key == oracle::KeyOf(n)) {
      return std::move(n.contract);
    }
  }
  return std::nullopt;
}

// Pairs of `changes` that share what is wrong, of which `fits` says that both
// at once foretell all that came back.
template <typename Fits>
std::vector<Pair> PairsThat(Fits fits, Kernel kernel,
                            const std::vector<Change>& changes) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t j = i + 1; j < changes.size(); ++j) {
      if (!Share(changes[i], changes[j])) continue;
      const auto both = Both(changes[i], changes[j], kernel);
      if (both.has_value() && fits(*both)) pairs.push_back({i, j});
    }
  }
  return pairs;
}

// ---- writer, gather, convert

// All bytes that a step may leave, in a fixed order.
std::vector<std::uint8_t> BytesOf(const StepImage& step, Bytes pool,
                                  const std::vector<Bytes>& outputs) {
  std::vector<std::uint8_t> all(pool.begin(), pool.end());
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (!step.tensors[t].output) continue;
    all.insert(all.end(), outputs[t].begin(), outputs[t].end());
  }
  return all;
}

std::vector<std::uint8_t> BytesOf(const StepImage& step, Bytes before,
                                  const Expectation& e) {
  return BytesOf(step, oracle::ExpectedPool(e, before),
                 {e.outputs.begin(), e.outputs.end()});
}

std::vector<Pair> ExactPairs(const Contract& contract, const CaseImage& image,
                             int index, Bytes before,
                             const oracle::AfterImage& after,
                             std::vector<Change>* changes) {
  const StepImage& step = image.steps[static_cast<std::size_t>(index)];
  const std::vector<std::uint8_t> want =
      BytesOf(step, before, Expect(contract, image, index, before));
  const std::vector<std::uint8_t> got =
      BytesOf(step, after.pool, after.outputs);
  for (Change& change : RuleChanges(contract, step.kernel)) {
    const std::vector<std::uint8_t> other =
        BytesOf(step, before, Expect(change.contract, image, index, before));
    bool any = false;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i] == got[i]) continue;
      change.explains.push_back(other[i] == got[i]);
      any |= change.explains.back();
    }
    if (any) changes->push_back(std::move(change));
  }
  const auto fits = [&](const Contract& both) {
    const Expectation e = Expect(both, image, index, before);
    // What is taken from memory that is nobody's could be anything.
    return e.unsettled.empty() && e.outside_writes == 0 &&
           oracle::Matches(both, image, index, before, e, after);
  };
  return PairsThat(fits, step.kernel, *changes);
}

// ---- decode

// Elements in a fixed order: whether each is as the expectation settles it.
std::vector<bool> Settled(const DecodeExpectation& e,
                          const oracle::ObservedRows& rows) {
  std::vector<bool> settled;
  for (std::int64_t row = 0; row < e.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::size_t at = r * kDecodeColumns + static_cast<std::size_t>(c);
      settled.push_back(
          !std::isinf(e.out_bound[at]) &&
          DecodeOutMatches(e, static_cast<std::int64_t>(at), rows.Out(row, c)));
    }
    settled.push_back(!std::isinf(e.lse_bound[r]) && rows.LseMatches(e, row));
  }
  return settled;
}

std::vector<Pair> DecodePairs(const Contract& contract, const CaseImage& image,
                              int index, Bytes before,
                              const StepObservation& observed,
                              std::vector<Change>* changes) {
  const oracle::ObservedRows rows(image.steps[static_cast<std::size_t>(index)],
                                  observed);
  if (!rows.well_formed()) return {};
  const std::vector<bool> right =
      rows.Matching(ExpectDecode(contract, image, index, before));
  for (Change& change : RuleChanges(contract, Kernel::kDecode)) {
    const std::vector<bool> other =
        Settled(ExpectDecode(change.contract, image, index, before), rows);
    bool any = false;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i]) continue;
      change.explains.push_back(other[i]);
      any |= other[i];
    }
    if (any) changes->push_back(std::move(change));
  }
  const auto fits = [&](const Contract& both) {
    const DecodeExpectation e = ExpectDecode(both, image, index, before);
    if (e.outside_reads > 0) return false;
    for (std::int64_t row = 0; row < e.rows(); ++row) {
      if (!rows.RowMatches(e, row)) return false;
    }
    return true;
  };
  return PairsThat(fits, Kernel::kDecode, *changes);
}

// ---- what the pairs have in common

// The two sides that every pair has one of each of; empty where there are none.
// By colours: the first pair's first change is on side 0, and each pair that
// shares a change with what is coloured puts its other on the other side.
std::array<std::vector<std::size_t>, 2> Sides(const std::vector<Pair>& pairs,
                                              std::size_t changes) {
  if (pairs.empty()) return {};
  constexpr int kNone = -1;
  std::vector<int> side(changes, kNone);
  side[pairs[0].first] = 0;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [i, j] : pairs) {
      for (const auto& [from, to] : {Pair{i, j}, Pair{j, i}}) {
        if (side[from] == kNone || side[to] != kNone) continue;
        side[to] = 1 - side[from];
        grows = true;
      }
    }
  }
  for (const auto& [i, j] : pairs) {
    if (side[i] == kNone || side[i] == side[j]) return {};
  }
  std::array<std::vector<std::size_t>, 2> sides;
  for (std::size_t i = 0; i < changes; ++i) {
    if (side[i] != kNone) sides[static_cast<std::size_t>(side[i])].push_back(i);
  }
  return sides;
}

Diagnosis OneOfTwo(const std::vector<Change>& changes,
                   const std::vector<std::size_t>& side,
                   const std::string& beside) {
  const Change& best = changes[side[0]];
  Diagnosis d;
  d.field = best.field;
  d.key = best.key;
  d.cause =
      absl::StrCat(best.words, ": together with ", beside,
                   " this predicts all that came back, alone it does not");
  for (std::size_t i = 1; i < side.size(); ++i) {
    d.also.push_back(changes[side[i]].key);
  }
  d.exact = true;
  return d;
}

// Whether a cause is known that foretells what is seen. One that a decode's
// damage merely looks like (NaN in slot 0 beside masked lanes) has the damage
// itself beside it.
bool IsExplained(const Diagnosis& why) {
  if (std::find(why.also.begin(), why.also.end(), oracle::kWrongOutputAndLse) !=
      why.also.end()) {
    return false;
  }
  return why.key != kNothingWritten &&
         (CanBeRuledOut(why.key) || oracle::IsOtherReading(why.key));
}

}  // namespace

std::optional<std::array<Diagnosis, 2>> DiagnoseTwoRules(
    const Contracts& contracts, const CaseImage& image,
    const Observation& observation, const Check& check, const Diagnosis& why) {
  if (!oracle::IsOfACall(check, image, observation)) return std::nullopt;
  const auto at = static_cast<std::size_t>(check.step);
  const StepObservation& observed = observation.steps[at];
  if (why.says_little || IsExplained(why) ||
      observed.status != CallStatus::kOk || !observed.strays.empty() ||
      !observed.reports.empty()) {
    return std::nullopt;
  }
  const Kernel kernel = image.steps[at].kernel;
  const Contract& contract = *contracts[static_cast<std::size_t>(kernel)];
  if (Classify(contract, image, check.step).validity == Validity::kInvalid) {
    return std::nullopt;
  }
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, check.step);
  std::vector<Change> changes;
  std::vector<Pair> pairs;
  if (kernel == Kernel::kDecode) {
    pairs = DecodePairs(contract, image, check.step, history.before(), observed,
                        &changes);
  } else {
    oracle::AfterImage after;
    if (!oracle::AfterImageOf(image.steps[at], observed, history.after(),
                              &after)) {
      return std::nullopt;
    }
    pairs = ExactPairs(contract, image, check.step, history.before(), after,
                       &changes);
  }
  const auto sides = Sides(pairs, changes.size());
  if (sides[0].empty()) return std::nullopt;
  return std::array<Diagnosis, 2>{
      OneOfTwo(changes, sides[0], changes[sides[1][0]].key),
      OneOfTwo(changes, sides[1], changes[sides[0][0]].key)};
}

}  // namespace mlafuzz
