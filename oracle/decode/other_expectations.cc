#include "oracle/decode/other_expectations.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/decode/decode_fit.h"
#include "oracle/decode/decode_impostors.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/scale_pairs.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// Rules whose mark is NaN: made of nothing, or of what slot 0 holds though it
// weighs 0, or of the last scale byte.
bool LeavesNan(const Neighbour& n) {
  return n.field == "decode.leading_block" ||
         n.field == "decode.masked_lanes" || n.field == "decode.empty_row" ||
         n.changed == Ue8m0Last_Name(LAST_IS_NAN);
}

Diagnosis BehavesAsUnder(const std::string& field, const std::string& key) {
  return {.field = field,
          .key = key,
          .cause = absl::StrCat("the decode behaves as under ", key)};
}

using Diagnoses = std::vector<Diagnosis>;

void Append(Diagnoses from, Diagnoses* to) {
  for (Diagnosis& d : from) to->push_back(std::move(d));
}

// Explanations that fit, whole ones apart.
struct Explanations {
  Diagnoses whole, mixed;
  Diagnoses by_nan;               // that may do so by chance
  std::vector<std::string> open;  // keys
};

class Asking {
 public:
  explicit Asking(const WrongDecode& wrong)
      : wrong_(wrong), wrong_is_nan_(WrongIsNan(wrong)) {}

  // All are asked, as one case rarely tells rules apart: the first that fits is
  // the cause, the others are left possible.
  OtherExpectations Run() const {
    Explanations rules, others;
    AskRules(&rules);
    AskBothScales(rules.whole, &others);
    AskBothEnds(&others);
    AskFaults(&others);
    Diagnoses all;
    for (Diagnoses* part :
         {&rules.whole, &rules.mixed, &others.whole, &others.mixed}) {
      Append(std::move(*part), &all);
    }
    Diagnoses by_nan = std::move(rules.by_nan);
    Append(std::move(others.by_nan), &by_nan);
    TakeThoseByNan(&by_nan, &all);
    std::vector<std::string> open = std::move(rules.open);
    open.insert(open.end(), others.open.begin(), others.open.end());
    if (all.empty()) {
      for (const Diagnosis& d : by_nan) open.push_back(d.key);
      return {{}, std::move(open)};
    }
    Diagnosis first = Together(std::move(all));
    // What forbids nothing that was seen does not explain it by itself.
    for (const std::string& key : open) AddPossible(first, key);
    AddImpostors(wrong_, first);
    return {std::move(first), {}};
  }

 private:
  // Beside a rule whose mark NaN is they explain it as well as that one does.
  // Without one, a single one does.
  static void TakeThoseByNan(Diagnoses* by_nan, Diagnoses* all) {
    const bool one = std::all_of(
        by_nan->begin(), by_nan->end(),
        [&](const Diagnosis& d) { return d.key == by_nan->front().key; });
    if (!all->empty()) {
      Append(std::move(*by_nan), all);
      by_nan->clear();
    } else if (!by_nan->empty() && one) {
      all->push_back(std::move(by_nan->front()));
      by_nan->clear();
    }
  }

  // The first, with the others beside it.
  static Diagnosis Together(Diagnoses all) {
    Diagnosis first = std::move(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) {
      // One fault in two forms, as of the first tile and of the last.
      if (all[i].key == first.key && all[i].cause != first.cause) {
        absl::StrAppend(&first.cause, ", or ", all[i].cause);
      }
      AddAlso(first, all[i].key);
    }
    return first;
  }

  // `leaves_nan`: all that the rule ever leaves is NaN.
  void Consider(const DecodeExpectation& e, Diagnosis d, bool leaves_nan,
                Explanations* found) const {
    const DecodeFit fit = FitOf(e, wrong_);
    if (fit == DecodeFit::kMixed) absl::StrAppend(&d.cause, " in some rows");
    switch (fit) {
      case DecodeFit::kWhole:
      case DecodeFit::kMixed:
        if (wrong_is_nan_ && !leaves_nan) {
          found->by_nan.push_back(std::move(d));
        } else {
          (fit == DecodeFit::kWhole ? found->whole : found->mixed)
              .push_back(std::move(d));
        }
        break;
      case DecodeFit::kOpen:
        found->open.push_back(std::move(d.key));
        break;
      case DecodeFit::kNone:
        break;
    }
  }

  void AskRules(Explanations* found) const {
    for (const Neighbour& n : Neighbours(wrong_.contract, Kernel::kDecode)) {
      Consider(wrong_.Expect(n.contract), DecodesAsUnder(n, "behaves as under"),
               LeavesNan(n), found);
    }
  }

  // A kernel's own faults with splits and blocks.
  void AskFaults(Explanations* found) const {
    for (DecodeFault& fault :
         DecodeFaults(wrong_.contract, wrong_.image, wrong_.index)) {
      Consider(wrong_.Expect(wrong_.contract, fault.options),
               Pattern(std::move(fault.key), std::move(fault.cause)),
               fault.leaves_nan, found);
    }
  }

  // Where one rule explains all, only pairs that contain it, for a case may
  // show one side of two; and one rule on both sides, which is one option of a
  // reader.
  void AskBothScales(const Diagnoses& whole, Explanations* found) const {
    if (Ue8m0()) {
      Contract other = wrong_.contract;
      other.mutable_qk()->set_scale_rule(ReaderSide::SCALE_ONE);
      other.mutable_v()->set_scale_rule(ReaderSide::SCALE_ONE);
      ConsiderPair("scale_rule", "SCALE_ONE", other, found);
      return;
    }
    for (const ScalePair& pair : ScalePairs(wrong_.contract)) {
      const bool has_one_that_does =
          std::any_of(whole.begin(), whole.end(), [&](const Diagnosis& d) {
            return d.key == pair.qk || d.key == pair.v;
          });
      if (!pair.one_rule() && !whole.empty() && !has_one_that_does) continue;
      Consider(wrong_.Expect(pair.contract),
               BehavesAsUnder("qk.scale_rule+v.scale_rule", pair.key()),
               /*leaves_nan=*/false, found);
    }
  }

  // Scale bytes are expanded by one function for both sides.
  void AskBothEnds(Explanations* found) const {
    if (!Ue8m0()) return;
    for (const Ue8m0Zero zero : {ZERO_IS_SUBNORMAL, ZERO_IS_ZERO}) {
      if (zero == wrong_.contract.qk().ue8m0_zero() ||
          zero == wrong_.contract.v().ue8m0_zero()) {
        continue;
      }
      Contract other = wrong_.contract;
      other.mutable_qk()->set_ue8m0_zero(zero);
      other.mutable_v()->set_ue8m0_zero(zero);
      ConsiderPair("ue8m0_zero", Ue8m0Zero_Name(zero), other, found);
    }
    for (const Ue8m0Last last : {LAST_IS_NAN, LAST_IS_INF}) {
      if (last == wrong_.contract.qk().ue8m0_last() ||
          last == wrong_.contract.v().ue8m0_last()) {
        continue;
      }
      Contract other = wrong_.contract;
      other.mutable_qk()->set_ue8m0_last(last);
      other.mutable_v()->set_ue8m0_last(last);
      ConsiderPair("ue8m0_last", Ue8m0Last_Name(last), other, found);
    }
  }

  bool Ue8m0() const {
    return LayoutOf(wrong_.image.pool.layout).scale_kind ==
           RowLayout::Scales::kUe8m0;
  }

  // `other` has `value` for `field` of both sides.
  void ConsiderPair(const char* field, const std::string& value,
                    const Contract& other, Explanations* found) const {
    Consider(wrong_.Expect(other),
             BehavesAsUnder(absl::StrCat("qk.", field, "+v.", field),
                            absl::StrCat("qk.", field, "=", value, "+v.", field,
                                         "=", value)),
             value == Ue8m0Last_Name(LAST_IS_NAN), found);
  }

  const WrongDecode& wrong_;
  const bool wrong_is_nan_;
};

}  // namespace

OtherExpectations AskOtherExpectations(const WrongDecode& wrong) {
  return Asking(wrong).Run();
}

}  // namespace mlafuzz::oracle
