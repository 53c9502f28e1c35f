#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/decode/outside_reads.h"
#include "oracle/outside_memory.h"
#include "oracle/tensor_view.h"

// How a cause is found:
//   1. A call that did not end as it should is explained by how it ended, or by
//      the rule under which it would have been refused. A death is a rule's
//      that reads at the address which was its end; of others that read outside
//      it is possible, as what was read there may have led elsewhere.
//   2. An expectation (of a neighbouring contract, of both scale rules changed,
//      of a fault of faults.h) explains what came back if
//      every row is right for it or for the declared contract, and some row is
//      right for it alone. One that every row fits comes before one that needs
//      both. The others that explain it too are named beside it. Where all
//      that is wrong is NaN, whoever reads one NaN explains it: such rules are
//      possible, unless a single one does, or a rule that leaves nothing but
//      NaN explains it too.
//   3. If none does, the damage itself is given a name.
namespace mlafuzz {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

constexpr int kScaleRules = 5;  // of ReaderSide::ScaleRule, from 1 on

class Diagnostician {
 public:
  Diagnostician(const Contract& contract, const CaseImage& image, int step,
                Bytes before, const StepObservation& observed,
                const Check& check)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(before),
        observed_(observed),
        check_(check),
        rows_(step_, observed) {}

  DecodeDiagnosis Run() {
    if (DecodeDiagnosis d = ByEnding(); !d.key.empty()) return d;
    if (!rows_.well_formed()) return Pattern("protocol", check_.detail);
    declared_ = ExpectDecode(contract_, image_, index_, before_);
    for (std::int64_t row = 0; row < declared_.rows(); ++row) {
      if (!rows_.RowMatches(declared_, row)) wrong_.push_back(row);
    }
    wrong_is_nan_ = WrongIsNan();
    if (wrong_.empty()) return Pattern(check_.property, check_.detail);
    DecodeDiagnosis d = ByExpectation();
    if (d.key.empty()) d = ByDamage();
    d.says_little =
        std::all_of(wrong_.begin(), wrong_.end(), [this](std::int64_t row) {
          return rows_.WrongColumn(declared_, row) >= 0 && AllNan(row);
        });
    return d;
  }

 private:
  static DecodeDiagnosis Pattern(std::string key, std::string cause) {
    return {.field = "", .key = std::move(key), .cause = std::move(cause)};
  }

  static DecodeDiagnosis OfNeighbour(const Neighbour& n,
                                     const std::string& what) {
    return {.field = n.field,
            .key = absl::StrCat(n.field, "=", n.changed),
            .cause = absl::StrCat("the decode ", what, " ", n.field, " = ",
                                  n.changed, ", not ", n.declared)};
  }

  // ---- 1. endings

  DecodeDiagnosis ByEnding() {
    switch (observed_.status) {
      case CallStatus::kOk:
        break;
      case CallStatus::kRefused:
        return ByRefusal();
      case CallStatus::kFault: {
        const std::string message = absl::AsciiStrToLower(observed_.message);
        for (const auto& [word, key] :
             {std::pair("deadlock", "deadlock"),
              std::pair("diverge", "divergence"), std::pair("race", "race")}) {
          if (absl::StrContains(message, word)) {
            return Pattern(key, observed_.message);
          }
        }
        return Pattern("fault", observed_.message);
      }
      default:
        return ByDeath();
    }
    const StepValidity validity = ClassifyDecode(contract_, image_, index_);
    if (validity.validity == Validity::kInvalid) {
      DecodeDiagnosis d = Pattern(
          absl::StrCat("accepted-invalid:", validity.rule),
          absl::StrCat("the decode takes an invalid call: ", validity.reason));
      if (rows_.well_formed() && rows_.Untouched()) d.also = {kNothingWritten};
      return d;
    }
    if (check_.property == property::kMemory) {
      if (OnlyMisaligned()) {
        DecodeDiagnosis d = Pattern("memory", check_.detail);
        for (const oracle::DecodeFault& fault :
             oracle::DecodeFaults(contract_, image_, index_)) {
          if (LessAligned(fault)) AddPossible(d, fault.key);
        }
        return d;
      }
      if (DecodeDiagnosis d = ByOutsideReads(); !d.key.empty()) return d;
      return Pattern("memory", check_.detail);
    }
    if (check_.property == property::kWrittenSet) {
      return Pattern("foreign-bytes", check_.detail);
    }
    return {};
  }

  bool LessAligned(const oracle::DecodeFault& fault) const {
    return oracle::ReadsLessAligned(contract_, image_, index_, fault.options);
  }

  // Whether a sanitizer spoke, of nothing but alignment.
  bool OnlyMisaligned() const {
    return observed_.strays.empty() && !observed_.reports.empty() &&
           std::all_of(observed_.reports.begin(), observed_.reports.end(),
                       [](const std::string& report) {
                         return absl::StrContains(report, "misaligned");
                       });
  }

  // Above all that a process can address: of an access there the processor
  // tells no address. (Slot INT32_MAX of rows of 528 bytes lies there; a
  // negative slot's row lies below the caches, where addresses are.)
  static bool IsFar(const ByteRange& row) {
    return row.begin >= std::int64_t{1} << 40;
  }

  // As ByDeath() of oracle/diagnosis.cc. Where the processor tells no address,
  // a row that lies too far away was the reason, and one that is not aligned
  // may have been.
  DecodeDiagnosis ByDeath() const {
    DecodeDiagnosis first;
    std::vector<std::string> possible;
    const bool by_access = observed_.fault.has_value();
    const bool told = by_access && observed_.fault->from_pool !=
                                       std::numeric_limits<std::int64_t>::min();
    const auto explains = [&](const Contract& contract,
                              const oracle::DecodeFault* fault,
                              const std::string& key) {
      const ExpectOptions options =
          fault == nullptr ? ExpectOptions() : fault->options;
      const std::vector<ByteRange> reads =
          oracle::DecodeOutsideReads(contract, image_, index_, options);
      if (oracle::Contains(reads, *observed_.fault)) return true;
      if (!told && std::any_of(reads.begin(), reads.end(), IsFar)) return true;
      if (!reads.empty() || (fault != nullptr && LessAligned(*fault))) {
        possible.push_back(key);
      }
      return false;
    };
    const auto add = [&](DecodeDiagnosis d) {
      if (first.key.empty()) {
        absl::StrAppend(&d.cause, ", where the process died: ", check_.detail);
        first = std::move(d);
      } else {
        AddTo(first, d.key);
      }
    };
    for (const Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      if (!by_access) break;
      DecodeDiagnosis d = OfNeighbour(n, "reads outside the pool as under");
      if (explains(n.contract, nullptr, d.key)) add(std::move(d));
    }
    for (const oracle::DecodeFault& fault :
         oracle::DecodeFaults(contract_, image_, index_)) {
      if (!by_access) break;
      if (explains(contract_, &fault, fault.key)) {
        add(Pattern(fault.key, absl::StrCat("the decode reads outside the "
                                            "pool: ",
                                            fault.cause)));
      }
    }
    if (first.key.empty()) {
      first = Pattern(CallStatusName(observed_.status),
                      absl::StrCat("the decode ended with ",
                                   CallStatusName(observed_.status), ": ",
                                   observed_.message));
    }
    for (const std::string& key : possible) AddPossible(first, key);
    return first;
  }

  // Rules that read rows outside the pool, which the declared one does not:
  // what a sanitizer says of that is theirs. Not that something was written.
  DecodeDiagnosis ByOutsideReads() const {
    DecodeDiagnosis first;
    if (!observed_.strays.empty()) return first;
    for (const Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      if (ExpectDecode(n.contract, image_, index_, before_).outside_reads ==
          0) {
        continue;
      }
      DecodeDiagnosis d = OfNeighbour(n, "reads outside the pool as under");
      if (first.key.empty()) {
        absl::StrAppend(&d.cause, ": ", check_.detail);
        first = std::move(d);
      } else {
        first.also.push_back(std::move(d.key));
      }
    }
    for (const oracle::DecodeFault& fault :
         oracle::DecodeFaults(contract_, image_, index_)) {
      if (ExpectDecode(contract_, image_, index_, before_, fault.options)
              .outside_reads == 0) {
        continue;
      }
      if (first.key.empty()) {
        first =
            Pattern(fault.key, absl::StrCat("the decode reads outside the "
                                            "pool: ",
                                            fault.cause, ": ", check_.detail));
      } else {
        AddTo(first, fault.key);
      }
    }
    return first;
  }

  DecodeDiagnosis ByRefusal() {
    const Validity validity =
        ClassifyDecode(contract_, image_, index_).validity;
    if (validity == Validity::kInvalid) {
      return Pattern(check_.property == property::kRefusal
                         ? "refused-silently"
                         : "refused-with-a-trace",
                     check_.detail);
    }
    DecodeDiagnosis first;
    for (const Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      if (ClassifyDecode(n.contract, image_, index_).validity !=
          Validity::kInvalid) {
        continue;
      }
      DecodeDiagnosis d = OfNeighbour(n, "refuses a call as under");
      if (first.key.empty()) {
        first = std::move(d);
      } else {
        first.also.push_back(std::move(d.key));
      }
    }
    if (!first.key.empty()) {
      // Who refuses everything refuses this as well.
      first.also.push_back(kRefused);
      return first;
    }
    return Pattern(kRefused,
                   absl::StrCat("the decode refuses a ", ValidityName(validity),
                                " call: ", observed_.message));
  }

  // ---- 2. other expectations

  enum class Fit {
    kNone,
    kOpen,  // forbids nothing that was seen, and predicts nothing of it
    kMixed,
    kWhole,
  };

  // Rules whose mark is NaN: made of nothing, or of what slot 0 holds though it
  // weighs 0, or of the last scale byte.
  static bool LeavesNan(const Neighbour& n) {
    return n.field == "decode.leading_block" ||
           n.field == "decode.masked_lanes" || n.field == "decode.empty_row" ||
           n.changed == Ue8m0Last_Name(LAST_IS_NAN);
  }

  // Some value that the declared contract forbids and `other` settles.
  bool Settles(const DecodeExpectation& other, std::int64_t row) const {
    const std::size_t r = static_cast<std::size_t>(row);
    if (!rows_.LseMatches(declared_, row) && !std::isinf(other.lse_bound[r])) {
      return true;
    }
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::size_t i = r * kDecodeColumns + c;
      if (std::isinf(other.out_bound[i])) continue;
      if (!DecodeOutMatches(declared_, static_cast<std::int64_t>(i),
                            rows_.Out(row, c))) {
        return true;
      }
    }
    return false;
  }

  Fit FitOf(const DecodeExpectation& other) const {
    bool settled = false;
    for (std::int64_t row : wrong_) {
      if (!rows_.RowMatches(other, row)) return Fit::kNone;
      settled |= Settles(other, row);
    }
    if (!settled) return Fit::kOpen;
    for (std::int64_t row = 0; row < declared_.rows(); ++row) {
      if (!rows_.RowMatches(other, row)) return Fit::kMixed;
    }
    return Fit::kWhole;
  }

  // Explanations that fit, whole ones apart.
  struct Explanations {
    std::vector<DecodeDiagnosis> whole, mixed;
    std::vector<DecodeDiagnosis> by_nan;  // that may do so by chance
    std::vector<std::string> open;        // keys
  };

  // `leaves_nan`: all that the rule ever leaves is NaN.
  void Consider(const DecodeExpectation& e, DecodeDiagnosis d, bool leaves_nan,
                Explanations* found) const {
    const Fit fit = FitOf(e);
    if (fit == Fit::kMixed) absl::StrAppend(&d.cause, " in some rows");
    switch (fit) {
      case Fit::kWhole:
      case Fit::kMixed:
        if (wrong_is_nan_ && !leaves_nan) {
          found->by_nan.push_back(std::move(d));
        } else {
          (fit == Fit::kWhole ? found->whole : found->mixed)
              .push_back(std::move(d));
        }
        break;
      case Fit::kOpen:
        found->open.push_back(std::move(d.key));
        break;
      case Fit::kNone:
        break;
    }
  }

  // All are asked, as one case rarely tells rules apart: the first that fits is
  // the cause, the others are left possible.
  DecodeDiagnosis ByExpectation() {
    Explanations rules, others;
    for (const Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      Consider(ExpectDecode(n.contract, image_, index_, before_),
               OfNeighbour(n, "behaves as under"), LeavesNan(n), &rules);
    }
    ByBothScales(rules.whole, &others);
    ByBothEnds(&others);
    ByFaults(&others);
    std::vector<DecodeDiagnosis> all;
    for (std::vector<DecodeDiagnosis>* part :
         {&rules.whole, &rules.mixed, &others.whole, &others.mixed}) {
      for (DecodeDiagnosis& d : *part) all.push_back(std::move(d));
    }
    std::vector<DecodeDiagnosis> by_nan = std::move(rules.by_nan);
    for (DecodeDiagnosis& d : others.by_nan) by_nan.push_back(std::move(d));
    const bool one = std::all_of(
        by_nan.begin(), by_nan.end(),
        [&](const DecodeDiagnosis& d) { return d.key == by_nan[0].key; });
    // Beside a rule whose mark NaN is they explain it as well as that one does.
    if (!all.empty()) {
      for (DecodeDiagnosis& d : by_nan) all.push_back(std::move(d));
      by_nan.clear();
    } else if (!by_nan.empty() && one) {
      all.push_back(std::move(by_nan[0]));
      by_nan.clear();
    }
    if (all.empty()) {
      possible_ = std::move(rules.open);
      possible_.insert(possible_.end(), others.open.begin(), others.open.end());
      for (const DecodeDiagnosis& d : by_nan) possible_.push_back(d.key);
      return {};
    }
    DecodeDiagnosis first = std::move(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) {
      // One fault in two forms, as of the first tile and of the last.
      if (all[i].key == first.key && all[i].cause != first.cause) {
        absl::StrAppend(&first.cause, ", or ", all[i].cause);
      }
      AddTo(first, all[i].key);
    }
    // What forbids nothing that was seen does not explain it by itself.
    for (const Explanations* part : {&rules, &others}) {
      for (const std::string& key : part->open) AddPossible(first, key);
    }
    AddImpostors(first);
    return first;
  }

  static void AddTo(DecodeDiagnosis& d, const std::string& key) {
    if (key == d.key ||
        std::find(d.also.begin(), d.also.end(), key) != d.also.end()) {
      return;
    }
    d.also.push_back(key);
  }

  static void AddPossible(DecodeDiagnosis& d, const std::string& key) {
    for (const std::vector<std::string>& keys : {d.also, d.possible}) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    }
    if (key == d.key) return;
    d.possible.push_back(key);
  }

  // Who writes nothing, or returns its input, may by chance leave what some
  // other fault would.
  void AddImpostors(DecodeDiagnosis& d) const {
    if (rows_.Untouched()) AddTo(d, kNothingWritten);
    if (std::all_of(wrong_.begin(), wrong_.end(), [this](std::int64_t row) {
          return RepeatsQuery(row) != Repeat::kNo;
        })) {
      AddTo(d, kRepeats);
    }
  }

  // A kernel's own faults with splits and blocks.
  void ByFaults(Explanations* found) const {
    for (oracle::DecodeFault& fault :
         oracle::DecodeFaults(contract_, image_, index_)) {
      Consider(ExpectDecode(contract_, image_, index_, before_, fault.options),
               Pattern(std::move(fault.key), std::move(fault.cause)),
               fault.leaves_nan, found);
    }
  }

  // Where one rule explains all, only pairs that contain it, for a case may
  // show one side of two; and one rule on both sides, which is one option of a
  // reader.
  void ByBothScales(const std::vector<DecodeDiagnosis>& whole,
                    Explanations* found) const {
    if (Ue8m0()) {
      Contract other = contract_;
      other.mutable_qk()->set_scale_rule(ReaderSide::SCALE_ONE);
      other.mutable_v()->set_scale_rule(ReaderSide::SCALE_ONE);
      ConsiderPair("qk.scale_rule", "v.scale_rule", "SCALE_ONE", other, found);
      return;
    }
    for (int qk = 1; qk <= kScaleRules; ++qk) {
      for (int v = 1; v <= kScaleRules; ++v) {
        if (qk == contract_.qk().scale_rule() ||
            v == contract_.v().scale_rule()) {
          continue;
        }
        Contract other = contract_;
        other.mutable_qk()->set_scale_rule(
            static_cast<ReaderSide::ScaleRule>(qk));
        other.mutable_v()->set_scale_rule(
            static_cast<ReaderSide::ScaleRule>(v));
        const std::string qk_name =
            absl::StrCat("qk.scale_rule=",
                         ReaderSide::ScaleRule_Name(other.qk().scale_rule()));
        const std::string v_name =
            absl::StrCat("v.scale_rule=",
                         ReaderSide::ScaleRule_Name(other.v().scale_rule()));
        if (qk != v && !whole.empty() &&
            std::none_of(whole.begin(), whole.end(),
                         [&](const DecodeDiagnosis& d) {
                           return d.key == qk_name || d.key == v_name;
                         })) {
          continue;
        }
        const std::string names = absl::StrCat(qk_name, "+", v_name);
        Consider(ExpectDecode(other, image_, index_, before_),
                 {.field = "qk.scale_rule+v.scale_rule",
                  .key = names,
                  .cause = absl::StrCat("the decode behaves as under ", names)},
                 /*leaves_nan=*/false, found);
      }
    }
  }

  bool Ue8m0() const {
    return oracle::LayoutOf(image_.pool.layout).scale_kind ==
           oracle::RowLayout::Scales::kUe8m0;
  }

  void ConsiderPair(const char* first, const char* second,
                    const std::string& value, const Contract& other,
                    Explanations* found) const {
    const std::string names =
        absl::StrCat(first, "=", value, "+", second, "=", value);
    Consider(ExpectDecode(other, image_, index_, before_),
             {.field = absl::StrCat(first, "+", second),
              .key = names,
              .cause = absl::StrCat("the decode behaves as under ", names)},
             value == Ue8m0Last_Name(LAST_IS_NAN), found);
  }

  // Scale bytes are expanded by one function for both sides.
  void ByBothEnds(Explanations* found) const {
    if (!Ue8m0()) return;
    for (const Ue8m0Zero zero : {ZERO_IS_SUBNORMAL, ZERO_IS_ZERO}) {
      if (zero == contract_.qk().ue8m0_zero() ||
          zero == contract_.v().ue8m0_zero()) {
        continue;
      }
      Contract other = contract_;
      other.mutable_qk()->set_ue8m0_zero(zero);
      other.mutable_v()->set_ue8m0_zero(zero);
      ConsiderPair("qk.ue8m0_zero", "v.ue8m0_zero", Ue8m0Zero_Name(zero), other,
                   found);
    }
    for (const Ue8m0Last last : {LAST_IS_NAN, LAST_IS_INF}) {
      if (last == contract_.qk().ue8m0_last() ||
          last == contract_.v().ue8m0_last()) {
        continue;
      }
      Contract other = contract_;
      other.mutable_qk()->set_ue8m0_last(last);
      other.mutable_v()->set_ue8m0_last(last);
      ConsiderPair("qk.ue8m0_last", "v.ue8m0_last", Ue8m0Last_Name(last), other,
                   found);
    }
  }

  oracle::KeyPlan PlanOf(std::int64_t row) const {
    return oracle::PlanKeys(contract_, image_.pool, step_,
                            row / declared_.heads, {});
  }

  // ---- 3. patterns

  // Whether every value that the declared contract forbids is NaN.
  bool WrongIsNan() const {
    for (const std::int64_t row : wrong_) {
      if (!rows_.LseMatches(declared_, row) && !std::isnan(rows_.Lse(row))) {
        return false;
      }
      for (int c = 0; c < kDecodeColumns; ++c) {
        const std::uint16_t bits = rows_.Out(row, c);
        if (!oracle::IsBf16Nan(bits) &&
            !DecodeOutMatches(declared_, row * kDecodeColumns + c, bits)) {
          return false;
        }
      }
    }
    return true;
  }

  bool AllNan(std::int64_t row) const {
    for (int c = 0; c < kDecodeColumns; ++c) {
      if (!oracle::IsBf16Nan(rows_.Out(row, c))) return false;
    }
    return true;
  }

  bool AllZero(std::int64_t row) const {
    for (int c = 0; c < kDecodeColumns; ++c) {
      if ((rows_.Out(row, c) & 0x7fff) != 0) return false;
    }
    return true;
  }

  // Whether the latent part of the query stands in the output. Zeros say
  // little: many faults end in them.
  enum class Repeat { kNo, kZeros, kYes };

  Repeat RepeatsQuery(std::int64_t row) const {
    const Tensor& q = *step_.Find(TensorId::kQ);
    const oracle::Storage<std::uint16_t> storage(&q);
    const std::int64_t at = row / declared_.heads * q.strides[0] +
                            row % declared_.heads * q.strides[1];
    bool any = false;
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::int64_t element = at + c * q.strides[2];
      if (!storage.Has(element)) return Repeat::kNo;
      if (rows_.Out(row, c) != storage[element]) return Repeat::kNo;
      any |= (storage[element] & 0x7fff) != 0;
    }
    return any ? Repeat::kYes : Repeat::kZeros;
  }

  // Of both caches.
  bool Slot0IsFinite() const {
    const oracle::Caches caches(image_.pool, before_, step_);
    double values[oracle::kLatent], radius[oracle::kLatent];
    double rope[oracle::kRope];
    Arithmetic exact;
    exact.set_dequantised(Arithmetic::DEQUANTISED_FP32);
    exact.set_denormals(Arithmetic::DENORMALS_KEPT);
    ReaderSide raw;
    raw.set_scale_rule(ReaderSide::SCALE_RAW);
    const oracle::RowLayout& layout = caches.layout();
    const oracle::Dequantiser dequantiser(layout, raw, exact, false);
    oracle::TokenBytes buffer;
    for (const bool extra : {false, true}) {
      const oracle::Key key = caches.Slot0(extra);
      if (key.at < 0) continue;
      const std::uint8_t* token = caches.Token(key, &buffer);
      if (!dequantiser.Row(token, values, radius).finite) return false;
      if (layout.rope != 0 &&
          !oracle::ReadRope(token + layout.rope_at, false, rope).finite) {
        return false;
      }
    }
    return true;
  }

  DecodeDiagnosis ByDamage() {
    if (rows_.Untouched()) {
      return Pattern(kNothingWritten,
                     absl::StrCat("the decode left all ", declared_.rows(),
                                  " rows as they were"));
    }
    bool nan = true, zero = true, masked = true;
    bool out = false, lse = false;
    std::int64_t repeats = 0;
    for (std::int64_t row : wrong_) {
      const oracle::KeyPlan plan = PlanOf(row);
      repeats += RepeatsQuery(row) == Repeat::kYes ? 1 : 0;
      // NaN or zeros that are right beside a wrong LSE are no damage.
      const bool wrong_out = rows_.WrongColumn(declared_, row) >= 0;
      nan &= wrong_out && AllNan(row);
      zero &= wrong_out && AllZero(row);
      masked &= plan.masked > 0;
      out |= wrong_out;
      lse |= !rows_.LseMatches(declared_, row);
    }
    if (repeats > 0) {
      return Pattern(kRepeats,
                     absl::StrCat(repeats, " of ", declared_.rows(),
                                  " rows hold the raw bytes of the input, the "
                                  "latent part of the query"));
    }
    const bool slot0 = masked && !Slot0IsFinite() &&
                       std::find(possible_.begin(), possible_.end(), kSlot0) !=
                           possible_.end();
    // One fault of no known shape shows now here, now there.
    const auto shape = [&](const char* key, const char* cause) {
      DecodeDiagnosis d = Pattern(key, cause);
      // Where splits are not known the rule says too little to be tested.
      if (slot0) {
        d = {.field = "decode.masked_lanes",
             .key = kSlot0,
             .cause =
                 "rows with masked lanes are wrong while slot 0 holds NaN "
                 "or Inf"};
        AddTo(d, key);
      }
      for (const std::string& other : possible_) AddPossible(d, other);
      AddTo(d, kWrong);
      AddImpostors(d);
      return d;
    };
    if (nan) return shape("nan-output", "rows of NaN without a reason");
    if (zero) return shape("zero-output", "rows of zeros without a reason");
    if (!lse) return shape("wrong-output", "wrong values beside a right LSE");
    if (!out) return shape("wrong-lse", "a wrong LSE beside right values");
    return shape(kWrong, "no neighbouring rule explains output and LSE");
  }

  static constexpr char kWrong[] = "wrong-output-and-lse";
  static constexpr char kRepeats[] = "repeats-input";
  static constexpr char kRefused[] = "refused-valid";
  static constexpr char kSlot0[] = "decode.masked_lanes=MASKED_READ_SLOT0";

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const Bytes before_;
  const StepObservation& observed_;
  const Check& check_;
  const oracle::ObservedRows rows_;
  DecodeExpectation declared_;
  std::vector<std::int64_t> wrong_;
  bool wrong_is_nan_ = false;
  // Keys of what may explain it but says too little to be tested.
  std::vector<std::string> possible_;
};

}  // namespace

DecodeDiagnosis DiagnoseDecode(const Contract& contract, const CaseImage& image,
                               int step,
                               absl::Span<const std::uint8_t> pool_before,
                               const StepObservation& observed,
                               const Check& check) {
  return Diagnostician(contract, image, step, pool_before, observed, check)
      .Run();
}

}  // namespace mlafuzz
