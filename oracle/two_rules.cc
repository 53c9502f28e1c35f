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
#include "oracle/damage.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/expect.h"
#include "oracle/other_reading.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// A decode's expectation costs about 1 us a key and head, and there may be
// hundreds of pairs: where more are left, none is asked.
constexpr std::size_t kMostDecodePairs = 400;

// One of the two: a rule with another value, or a fault of a decode.
struct Change {
  std::string key;
  std::string field;  // empty: a fault
  std::string words;
  Contract contract;  // with that field changed alone
  ExpectOptions options;
};

using Pair = std::pair<std::size_t, std::size_t>;  // of numbers of changes

std::vector<Change> RuleChanges(const Contract& contract, Kernel kernel) {
  std::vector<Change> changes;
  for (Neighbour& n : Neighbours(contract, kernel)) {
    Change change;
    change.key = absl::StrCat(n.field, "=", n.changed);
    change.words = absl::StrCat(n.field, ": the contract says ", n.declared,
                                ", the kernel behaves as ", n.changed);
    change.field = std::move(n.field);
    change.contract = std::move(n.contract);
    changes.push_back(std::move(change));
  }
  return changes;
}

// The contract with both changed; none of two values of one field, or of a
// value that the first one leaves no room for.
std::optional<Contract> Both(const Change& a, const Change& b, Kernel kernel) {
  if (b.field.empty()) return a.contract;
  if (a.field.empty()) return b.contract;
  if (a.field == b.field) return std::nullopt;
  for (Neighbour& n : Neighbours(a.contract, kernel)) {
    if (b.key == absl::StrCat(n.field, "=", n.changed)) {
      return std::move(n.contract);
    }
  }
  return std::nullopt;
}

// ---- writer, gather, convert

// Bytes that are wrong, as places in the pool and then in the outputs.
class WrongBytes {
 public:
  WrongBytes(const StepImage& step, Bytes before, const Expectation& declared,
             const oracle::AfterImage& after)
      : step_(step), before_(before), declared_(declared) {
    Each(declared, [&](std::size_t buffer, Bytes want) {
      const Bytes got = buffer == 0 ? after.pool : after.outputs[buffer - 1];
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (want[i] != got[i]) wrong_.push_back({buffer, i});
      }
    });
  }

  // Whether `other` says something else of one of them.
  bool ChangedBy(const Expectation& other) const {
    return std::any_of(wrong_.begin(), wrong_.end(), [&](const Place& place) {
      return ByteOf(other, place) != ByteOf(declared_, place);
    });
  }

 private:
  struct Place {
    std::size_t buffer;  // 0: the pool, else 1 + the tensor's number
    std::size_t at;
  };

  template <typename F>
  void Each(const Expectation& e, F f) const {
    f(0, oracle::ExpectedPool(e, before_));
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      if (step_.tensors[t].output) f(t + 1, e.outputs[t]);
    }
  }

  std::uint8_t ByteOf(const Expectation& e, const Place& place) const {
    return place.buffer == 0 ? oracle::ExpectedPool(e, before_)[place.at]
                             : e.outputs[place.buffer - 1][place.at];
  }

  const StepImage& step_;
  const Bytes before_;
  const Expectation& declared_;
  std::vector<Place> wrong_;
};

bool RestsOnItsOwnMemory(const Expectation& e) {
  return e.unsettled.empty() && e.outside_writes == 0;
}

std::vector<Pair> ExactPairs(const Contract& contract, const CaseImage& image,
                             int index, Bytes before,
                             const oracle::AfterImage& after,
                             std::vector<Change>* changes) {
  const StepImage& step = image.steps[static_cast<std::size_t>(index)];
  const Expectation declared = Expect(contract, image, index, before);
  const WrongBytes wrong(step, before, declared, after);
  for (Change& change : RuleChanges(contract, step.kernel)) {
    // An empty grid is no matter of bytes.
    if (change.field == "writer.zero_tokens") continue;
    if (wrong.ChangedBy(Expect(change.contract, image, index, before))) {
      changes->push_back(std::move(change));
    }
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < changes->size(); ++i) {
    for (std::size_t j = i + 1; j < changes->size(); ++j) {
      const auto both = Both((*changes)[i], (*changes)[j], step.kernel);
      if (!both.has_value()) continue;
      const Expectation other = Expect(*both, image, index, before);
      if (RestsOnItsOwnMemory(other) &&
          oracle::Matches(*both, image, index, before, other, after)) {
        pairs.push_back({i, j});
      }
    }
  }
  return pairs;
}

// ---- decode

// Whether every row is right for it, and it settles what is wrong.
bool FitsAllRows(const DecodeExpectation& e, const DecodeExpectation& declared,
                 const oracle::ObservedRows& rows) {
  if (e.outside_reads > 0) return false;
  for (std::int64_t row = 0; row < e.rows(); ++row) {
    if (!rows.RowMatches(e, row)) return false;
    const auto r = static_cast<std::size_t>(row);
    if (!rows.LseMatches(declared, row) && std::isinf(e.lse_bound[r])) {
      return false;
    }
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::size_t at = r * kDecodeColumns + static_cast<std::size_t>(c);
      if (std::isinf(e.out_bound[at]) &&
          !DecodeOutMatches(declared, static_cast<std::int64_t>(at),
                            rows.Out(row, c))) {
        return false;
      }
    }
  }
  return true;
}

std::vector<Pair> DecodePairs(const Contract& contract, const CaseImage& image,
                              int index, Bytes before,
                              const StepObservation& observed,
                              std::vector<Change>* changes) {
  const oracle::ObservedRows rows(image.steps[static_cast<std::size_t>(index)],
                                  observed);
  if (!rows.well_formed()) return {};
  const DecodeExpectation declared =
      ExpectDecode(contract, image, index, before);
  std::vector<Change> all = RuleChanges(contract, Kernel::kDecode);
  for (oracle::DecodeFault& fault :
       oracle::DecodeFaults(contract, image, index)) {
    Change change;
    change.key = std::move(fault.key);
    change.words = std::move(fault.cause);
    change.contract = contract;
    change.options = fault.options;
    all.push_back(std::move(change));
  }
  for (Change& change : all) {
    if (DecodesApart(declared, ExpectDecode(change.contract, image, index,
                                            before, change.options))) {
      changes->push_back(std::move(change));
    }
  }
  std::vector<Pair> asked;
  for (std::size_t i = 0; i < changes->size(); ++i) {
    for (std::size_t j = i + 1; j < changes->size(); ++j) {
      const Change& a = (*changes)[i];
      const Change& b = (*changes)[j];
      // Rules come first: of two faults the options would have to be joined.
      if (!a.field.empty() && a.field != b.field) asked.push_back({i, j});
    }
  }
  if (asked.size() > kMostDecodePairs) return {};
  std::vector<Pair> pairs;
  for (const auto& [i, j] : asked) {
    const Change& a = (*changes)[i];
    const Change& b = (*changes)[j];
    const auto both = Both(a, b, Kernel::kDecode);
    if (both.has_value() &&
        FitsAllRows(ExpectDecode(*both, image, index, before, b.options),
                    declared, rows)) {
      pairs.push_back({i, j});
    }
  }
  return pairs;
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
  constexpr char kDamage[] = "wrong-output-and-lse";
  if (std::find(why.also.begin(), why.also.end(), kDamage) != why.also.end()) {
    return false;
  }
  return why.key != kNothingWritten &&
         (CanBeRuledOut(why.key) || oracle::IsOtherReading(why.key));
}

}  // namespace

std::optional<std::array<Diagnosis, 2>> DiagnoseTwoRules(
    const Contracts& contracts, const CaseImage& image,
    const Observation& observation, const Check& check, const Diagnosis& why) {
  const auto at = static_cast<std::size_t>(check.step);
  if (check.step < 0 || at >= image.steps.size() ||
      at >= observation.steps.size() || image.steps[at].is_patch) {
    return std::nullopt;
  }
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
