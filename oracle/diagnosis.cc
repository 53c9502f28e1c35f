#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/contracts.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/expect.h"
#include "oracle/gather_rows.h"
#include "oracle/judge.h"
#include "oracle/layout.h"
#include "oracle/other_reading.h"
#include "oracle/outside_memory.h"
#include "oracle/part_words.h"
#include "oracle/pool_history.h"
#include "oracle/repeats_input.h"
#include "oracle/some_rows.h"
#include "oracle/tensor_view.h"
#include "oracle/validity.h"
#include "oracle/write_plan.h"

// How a cause is found:
//   1. A call that did not end as it should is explained by how it ended; a
//      death by a rule only if that rule accesses the address that was its end.
//   2. Every contract with one other rule is asked what it would have left
//      behind. The first that predicts the after-image bit for bit is the
//      cause. Weaker evidence comes after: a rule that reads or writes outside
//      what the oracle sees, right in all bytes that it does see, where it was
//      seen to.
//   3. If none does, the call is read in other ways that no rule describes (a
//      stride taken from a shape, tiles in each other's place). If none of them
//      predicts the after-image either, the damage itself is given a name.
//      Rules that forbid nothing of it, but predict nothing either, are kept as
//      possible.
namespace mlafuzz {
namespace {

using oracle::AfterImage;
using oracle::Damage;
using oracle::Region;
using oracle::RowLayout;

class Diagnostician {
 public:
  Diagnostician(const Contract& contract, const CaseImage& image, int step,
                const oracle::PoolHistory& history,
                const StepObservation& observed, const Check& check)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        layout_(oracle::LayoutOf(image.pool.layout)),
        before_(history.before()),
        observed_(observed),
        check_(check) {
    seen_ = oracle::AfterImageOf(step_, observed, history.after(), &after_);
  }

  Diagnosis Run() {
    if (Diagnosis d = ByEnding(); !d.key.empty()) return d;
    if (!seen_) return Pattern("protocol", check_.detail);
    expected_ = Expect(contract_, image_, index_, before_);
    matches_ =
        oracle::Matches(contract_, image_, index_, before_, expected_, after_);
    if (!matches_) {
      damage_ =
          oracle::Assess(contract_, image_, index_, before_, expected_, after_);
    }
    Diagnosis d = ByNeighbour();
    if (d.key.empty()) d = ByDamage();
    d.says_little = !matches_ && IsWhatWas();
    return d;
  }

 private:
  static Diagnosis Pattern(std::string key, std::string cause) {
    return {.field = "", .key = std::move(key), .cause = std::move(cause)};
  }

  static void AddTo(Diagnosis& d, std::string key) {
    if (key == d.key ||
        std::find(d.also.begin(), d.also.end(), key) != d.also.end()) {
      return;
    }
    d.also.push_back(std::move(key));
  }

  // ---- 1. endings

  Diagnosis ByEnding() {
    const std::string kernel = KernelName(step_.kernel);
    switch (observed_.status) {
      case CallStatus::kCrash:
      case CallStatus::kHang:
      case CallStatus::kOutOfMemory:
      case CallStatus::kProtocol:
        return ByDeath();
      case CallStatus::kFault: {
        const std::string message = absl::AsciiStrToLower(observed_.message);
        std::string key = "fault";
        for (const char* kind : {"deadlock", "diverge", "race", "watchdog"}) {
          if (absl::StrContains(message, kind)) {
            key = kind == absl::string_view("diverge") ? "divergence" : kind;
            break;
          }
        }
        return Pattern(key, absl::StrCat("the lanes of the ", kernel,
                                         " were stopped: ", observed_.message));
      }
      default:
        break;
    }
    const StepValidity validity = Classify(contract_, image_, index_);
    if (observed_.status == CallStatus::kRefused &&
        validity.validity != Validity::kInvalid &&
        check_.property == property::kRefusal) {
      return Pattern("refused-valid",
                     absl::StrCat("the ", kernel, " refuses a ",
                                  ValidityName(validity.validity),
                                  " call: ", observed_.message));
    }
    if (validity.validity == Validity::kInvalid) {
      if (observed_.status == CallStatus::kRefused) {
        return check_.property == property::kRefusal
                   ? Pattern("refused-silently",
                             absl::StrCat("the ", kernel,
                                          " refuses without a reason: ",
                                          validity.reason))
                   : Pattern("refused-with-trace",
                             absl::StrCat("the ", kernel,
                                          " refuses, but leaves a trace: ",
                                          check_.detail));
      }
      Diagnosis d = {.field = validity.rule,
                     .key = "accepted-invalid",
                     .cause = absl::StrCat(
                         "the ", kernel, " accepts what its contract refuses (",
                         validity.rule, "): ", validity.reason)};
      // Who does nothing refuses nothing.
      if (seen_ && NothingChanged()) d.also.push_back(kNothingWritten);
      return d;
    }
    if (observed_.status == CallStatus::kRefused) {
      return Pattern("refused-with-trace", check_.detail);
    }
    if (observed_.status == CallStatus::kError) {
      if (step_.kernel == Kernel::kWriter &&
          oracle::Length(step_.Find(TensorId::kSlotMapping)) == 0) {
        for (const Neighbour& n : Neighbours(contract_, step_.kernel)) {
          if (n.changed == WriterContract::ZeroTokens_Name(
                               WriterContract::ZERO_TOKENS_LAUNCH_ERROR)) {
            return Named(n, absl::StrCat("a call without tokens ends in: ",
                                         observed_.message));
          }
        }
      }
      return Pattern("error",
                     absl::StrCat("the ", kernel,
                                  " reports an error: ", observed_.message));
    }
    return {};
  }

  // The process died. A rule that reaches outside of the tensors is the reason
  // if it reaches the address at which the process died, and possible if that
  // is another one: what was read or written outside may have led there. An
  // exception, an abort or a division by zero is none of its doing.
  Diagnosis ByDeath() const {
    const std::string name = CallStatusName(observed_.status);
    Diagnosis first;
    std::vector<std::string> possible;
    for (const Neighbour& n : Neighbours(contract_, step_.kernel)) {
      if (!observed_.fault.has_value()) break;
      const Expectation other = Expect(n.contract, image_, index_, before_);
      const bool reads = ReadsForeign(n, other);
      if (other.outside_writes == 0 && !reads) continue;
      std::string why;
      if (oracle::Contains(
              oracle::OutsideWrites(n.contract, image_.pool, step_),
              *observed_.fault)) {
        why =
            absl::StrCat("sends ", other.outside_writes, " rows outside ",
                         step_.kernel == Kernel::kGather ? "dst" : "the pool");
      } else if (reads && oracle::Contains(oracle::OutsideReads(
                                               n.contract, image_.pool, step_),
                                           *observed_.fault)) {
        why = absl::StrCat("reads outside of the tensors for ",
                           other.unsettled.size(), " rows");
      } else {
        possible.push_back(absl::StrCat(n.field, "=", n.changed));
        continue;
      }
      Diagnosis d =
          Named(n, absl::StrCat("the process died (", check_.detail,
                                "); that rule ", why, ", this one among them"));
      if (first.key.empty()) {
        first = std::move(d);
      } else {
        AddTo(first, std::move(d.key));
      }
    }
    if (first.key.empty()) {
      first =
          Pattern(name, absl::StrCat("the ", KernelName(step_.kernel),
                                     " ended in ", name, ": ", check_.detail));
    }
    first.possible = std::move(possible);
    return first;
  }

  // ---- 2. neighbouring contracts

  enum class Evidence {
    kExact,      // predicts every byte
    kUnsettled,  // predicts every byte that does not depend on foreign memory
    kOutside,    // predicts the pool, and rows outside of it were hit
    kPossible,   // forbids nothing that was seen, and predicts nothing of it
    kNone,
  };

  Evidence Weigh(const Neighbour& n) const {
    const Expectation other = Expect(n.contract, image_, index_, before_);
    const Evidence evidence = Weigh(n, other);
    return evidence == Evidence::kNone && MayFollow(n, other)
               ? Evidence::kPossible
               : evidence;
  }

  // Memory that is nobody's to change was hit, by rows that the rule sends
  // there or reads from there. Whatever else is wrong may come of that: such a
  // row may lie on the input of the next.
  bool MayFollow(const Neighbour& n, const Expectation& other) const {
    if (observed_.strays.empty() && observed_.reports.empty() &&
        !damage_.foreign) {
      return false;
    }
    return other.outside_writes > 0 || ReadsForeign(n, other) ||
           (step_.kernel == Kernel::kWriter && StoresSkipped(n.contract));
  }

  // A row that a race may have torn is no foreign memory.
  static bool ReadsForeign(const Neighbour& n, const Expectation& other) {
    return !other.unsettled.empty() && n.field != "writer.duplicates";
  }

  Evidence Weigh(const Neighbour& n, const Expectation& other) const {
    if (matches_ || JudgesStrays()) {
      // Memory safety failed: the rule must reach outside, and to there.
      if (other.outside_writes == 0 || !HitOutside(n, /*before=*/{})) {
        return Evidence::kNone;
      }
    }
    if (oracle::Matches(n.contract, image_, index_, before_, other, after_)) {
      if (matches_) return Evidence::kOutside;
      if (other.unsettled.empty()) return Evidence::kExact;
      // What a rule takes from foreign memory may be anything, and so would
      // explain anything: to be named it must predict some wrong byte by
      // itself, or a sanitizer have seen the access. (A torn row is no such
      // thing: each byte is one writer's or the other's.)
      return !ReadsForeign(n, other) || !observed_.reports.empty() ||
                     PredictsAWrongByte(other)
                 ? Evidence::kUnsettled
                 : Evidence::kPossible;
    }
    if (n.field != "writer.slots") return Evidence::kNone;
    if (!ReachesBelowPool(other)) return Evidence::kNone;
    // Another division of a negative slot, or a row half inside: compare from
    // page 0 on alone.
    AfterImage in_pool = after_;
    std::vector<std::uint8_t> pool(after_.pool.begin(), after_.pool.end());
    const absl::Span<const std::uint8_t> want =
        oracle::ExpectedPool(other, before_);
    const std::size_t offset = static_cast<std::size_t>(image_.pool.offset);
    Stray before;
    for (std::size_t i = 0; i < offset; ++i) {
      if (pool[i] == before_[i]) continue;
      before.last = static_cast<std::int64_t>(i);
      if (before.count++ == 0) before.first = before.last;
    }
    if (!HitOutside(n, before)) return Evidence::kNone;
    std::copy_n(want.begin(), offset, pool.begin());
    in_pool.pool = pool;
    return oracle::Matches(n.contract, image_, index_, before_, other, in_pool)
               ? Evidence::kOutside
               : Evidence::kNone;
  }

  // Whether the check at hand is of bytes outside of the tensors.
  bool JudgesStrays() const {
    return check_.property == property::kMemory && !observed_.strays.empty();
  }

  // Whether a byte that the contract settles is wrong, and `other`, which
  // matches what came back, settles it too.
  bool PredictsAWrongByte(const Expectation& other) const {
    const auto predicts = [&](int tensor, absl::Span<const std::uint8_t> want,
                              absl::Span<const std::uint8_t> got) {
      std::vector<bool> open(want.size());
      for (const Expectation* e : {&expected_, &other}) {
        for (const ByteRange& range : e->unsettled) {
          if (range.tensor != tensor) continue;
          std::fill(open.begin() + range.begin, open.begin() + range.end, true);
        }
      }
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (want[i] != got[i] && !open[i]) return true;
      }
      return false;
    };
    if (predicts(-1, oracle::ExpectedPool(expected_, before_), after_.pool)) {
      return true;
    }
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].output &&
          predicts(static_cast<int>(i), expected_.outputs[i],
                   after_.outputs[i])) {
        return true;
      }
    }
    return false;
  }

  // A sanitizer spoke, or bytes changed where a rule that is not kept stores
  // its rows: outside the pool, where a negative slot is taken for an address;
  // or beside dst, where a start past its end is. `before`: what changed within
  // the pool's bytes before page 0.
  bool HitOutside(const Neighbour& n, const Stray& before) const {
    if (observed_.strays.empty() && before.count == 0) {
      return !observed_.reports.empty();
    }
    return oracle::LeftByRows(
        oracle::OutsideWrites(n.contract, image_.pool, step_), step_,
        observed_.strays, before);
  }

  // Whether a rule stores rows outside the pool or before its page 0.
  bool ReachesBelowPool(const Expectation& other) const {
    if (other.outside_writes > 0) return true;
    const absl::Span<const std::uint8_t> pool =
        oracle::ExpectedPool(other, before_);
    return !std::equal(pool.begin(), pool.begin() + image_.pool.offset,
                       before_.begin());
  }

  // Leaves in possible_ what might explain it but cannot be told.
  Diagnosis ByNeighbour() {
    const std::vector<Neighbour> neighbours =
        Neighbours(contract_, step_.kernel);
    const Neighbour* best = nullptr;
    Evidence best_evidence = Evidence::kNone;
    std::vector<const Neighbour*> explain;
    for (const Neighbour& n : neighbours) {
      if (n.field == "writer.zero_tokens") continue;
      const Evidence evidence = Weigh(n);
      if (evidence == Evidence::kNone) continue;
      if (evidence == Evidence::kPossible) {
        possible_.push_back(absl::StrCat(n.field, "=", n.changed));
        continue;
      }
      explain.push_back(&n);
      if (evidence < best_evidence) {
        best = &n;
        best_evidence = evidence;
      }
    }
    std::string others;
    for (const Neighbour* n : explain) {
      if (n == best) continue;
      absl::StrAppend(&others, others.empty() ? "" : ", ", n->field, "=",
                      n->changed);
    }
    if (best == nullptr) return InSomeRows(neighbours);
    std::string seen = WhatIsSeen();
    if (!others.empty()) {
      absl::StrAppend(&seen, " (explained as well by ", others, ")");
    }
    Diagnosis diagnosis = Named(*best, seen);
    if (!matches_ && NothingChanged())
      diagnosis.also.push_back(kNothingWritten);
    if (!matches_ && RowsThatRepeatInput(/*wrong=*/true) > 0) {
      diagnosis.also.push_back(kRepeats);
    }
    for (const Neighbour* n : explain) {
      AddTo(diagnosis, absl::StrCat(n->field, "=", n->changed));
    }
    // Rules that are kept under a condition, which all of this call may meet.
    if (!matches_) {
      for (oracle::OtherReading& narrowed : oracle::NarrowedRules(
               contract_, image_, index_, before_, expected_, after_)) {
        AddTo(diagnosis, std::move(narrowed.key));
      }
    }
    // Where the name itself rests on little, what is possible is kept.
    if (best_evidence != Evidence::kExact) diagnosis.possible = possible_;
    diagnosis.exact = best_evidence != Evidence::kUnsettled;
    return diagnosis;
  }

  // A rule that is kept under a condition which some rows of the call meet.
  Diagnosis InSomeRows(const std::vector<Neighbour>& neighbours) const {
    Diagnosis first;
    if (matches_ || !observed_.strays.empty() || !observed_.reports.empty()) {
      return first;
    }
    // A reading that predicts the whole call says under which.
    for (const oracle::OtherReading& reading : oracle::OtherReadings(
             contract_, image_, index_, before_, expected_, after_)) {
      if (reading.key != oracle::kBytesMissing) return first;
    }
    for (const Neighbour& n : neighbours) {
      if (n.field == "writer.zero_tokens") continue;
      const std::int64_t rows = oracle::RowsUnderOtherRule(
          image_, index_, before_, expected_,
          Expect(n.contract, image_, index_, before_), after_);
      if (rows == 0) continue;
      if (first.key.empty()) {
        first =
            Named(n, absl::StrCat(WhatIsSeen(), "; so in ", rows,
                                  step_.kernel == Kernel::kConvert ? " elements"
                                                                   : " rows",
                                  " where it would show, not in all"));
        first.exact = true;
        first.possible = possible_;
      } else {
        AddTo(first, absl::StrCat(n.field, "=", n.changed));
      }
    }
    return first;
  }

  static Diagnosis Named(const Neighbour& n, absl::string_view seen) {
    return {.field = n.field,
            .key = absl::StrCat(n.field, "=", n.changed),
            .cause = absl::StrCat(n.field, ": the contract says ", n.declared,
                                  ", the kernel behaves as ", n.changed, ": ",
                                  seen)};
  }

  std::string WhatIsSeen() const {
    if (matches_) return check_.detail;
    if (damage_.tail && KeepsTail()) {
      const oracle::PoolPlace place =
          oracle::PlaceInPool(image_.pool, damage_.tail.at);
      const std::uint8_t* row =
          after_.pool.data() + image_.pool.RowAt(place.slot);
      const std::uint8_t* tail = row + layout_.rope_at;
      const bool uniform =
          std::all_of(tail, tail + 2 * layout_.rope,
                      [&](std::uint8_t byte) { return byte == *tail; });
      return absl::StrCat(
          "bytes ", layout_.rope_at, "..", layout_.rope_end() - 1, " of slot ",
          place.slot, " keep ",
          uniform ? absl::StrFormat("0x%02x", *tail) : "what they held");
    }
    for (const Region* region : Regions()) {
      if (*region) {
        return absl::StrCat(oracle::DescribeFirst(image_, index_, before_,
                                                  expected_, after_, *region),
                            "; ", damage_.wrong_rows, " of ", damage_.rows,
                            " rows differ");
      }
    }
    return check_.detail;
  }

  bool KeepsTail() const {
    const oracle::PoolPlace place =
        oracle::PlaceInPool(image_.pool, damage_.tail.at);
    if (place.slot < 0) return false;
    const std::int64_t at = image_.pool.RowAt(place.slot) + layout_.rope_at;
    return std::memcmp(after_.pool.data() + at, before_.data() + at,
                       2 * static_cast<std::size_t>(layout_.rope)) == 0;
  }

  std::vector<const Region*> Regions() const {
    return {
        &damage_.scales,       &damage_.codes,         &damage_.rope,
        &damage_.tail,         &damage_.skipped_rows,  &damage_.untouched_rows,
        &damage_.missing_rows, &damage_.values,        &damage_.gather_rope,
        &damage_.gather_tail,  &damage_.gather_scales, &damage_.indices,
        &damage_.counts,       &damage_.foreign,       &damage_.padding};
  }

  // ---- 3. patterns

  // A damage is only what is seen of a cause. Where another reading of the call
  // predicts all of it, that is the name; the damage stays possible, as another
  // case of the same fault may show no more.
  Diagnosis ByDamage() const {
    Diagnosis damage = DamagePattern();
    damage.possible = possible_;
    if (matches_ || damage.key == kNothingWritten) return damage;
    // A slot may be the token's number by chance, or what stood there: a rule
    // that says so for every element is the better name.
    const bool is_claim = damage.key == kRepeats || damage.key == kMissingRows;
    std::vector<oracle::OtherReading> readings =
        is_claim ? oracle::NarrowedRules(contract_, image_, index_, before_,
                                         expected_, after_)
                 : oracle::OtherReadings(contract_, image_, index_, before_,
                                         expected_, after_);
    if (readings.empty()) return damage;
    Diagnosis d = Pattern(readings[0].key,
                          absl::StrCat(readings[0].words, ": ", WhatIsSeen()));
    for (std::size_t i = 1; i < readings.size(); ++i) {
      AddTo(d, std::move(readings[i].key));
    }
    d.possible = std::move(damage.possible);
    if (is_claim) {
      AddTo(d, std::move(damage.key));
    } else {
      d.possible.push_back(std::move(damage.key));
    }
    for (std::string& key : damage.also) AddTo(d, std::move(key));
    return d;
  }

  Diagnosis DamagePattern() const {
    if (matches_) {
      if (!observed_.strays.empty()) {
        return Pattern("writes-outside", check_.detail);
      }
      if (!observed_.reports.empty()) {
        return Pattern("sanitizer", check_.detail);
      }
      return Pattern("other", check_.detail);
    }
    const std::string numbers =
        absl::StrCat(damage_.wrong_rows, " of ", damage_.rows, " rows");
    const std::string first = WhatIsSeen();
    const std::int64_t untouched =
        damage_.untouched_rows.count + damage_.missing_rows.count;
    if (NothingWritten(untouched)) {
      Diagnosis d =
          Pattern(kNothingWritten,
                  absl::StrCat("the ", KernelName(step_.kernel), " left all ",
                               damage_.rows, " rows as they were"));
      return MayDifferInPart(MayRepeatInput(std::move(d)));
    }
    if (const std::int64_t repeats = RowsThatRepeatInput(/*wrong=*/true);
        repeats > 0) {
      return Pattern(
          kRepeats,
          absl::StrCat(repeats, " of ", damage_.rows,
                       " rows hold the raw bytes of the input: ", first));
    }
    if (Only(untouched)) {
      return MayDifferInPart(Pattern(
          kMissingRows, absl::StrCat(untouched, " of ", damage_.rows,
                                     " rows were never written: ", first)));
    }
    const oracle::PartWords words = oracle::PartWordsOf(contract_, layout_);
    struct Named {
      const Region* region;
      const char* key;
      absl::string_view words;
    };
    for (const Named& named : std::initializer_list<Named>{
             {&damage_.codes, "codes-only", words.only_codes},
             {&damage_.scales, "scales-only", words.only_scales},
             {&damage_.padding, "padding-only",
              "padding is wrong while all that a row holds is right"},
             {&damage_.rope, "rope-only",
              "rope is wrong while codes and scales are right"},
             {&damage_.gather_rope, "rope-only", words.only_rope_columns},
             {&damage_.tail, "tail", words.only_tail},
             {&damage_.gather_tail, "tail",
              "columns of a row without rope are wrong"},
             {&damage_.values, "values-only", words.only_values},
             {&damage_.gather_scales, "scales-only",
              "copied scales are wrong while the codes are right"},
             {&damage_.skipped_rows, "skipped-rows",
              "rows hold tokens that were to be skipped"},
             {&damage_.counts, "valid-count",
              "counts are wrong while the indices are right"},
             {&damage_.indices, "indices", "indices are wrong"},
             {&damage_.foreign, "foreign-bytes",
              "bytes changed that nobody was to change"}}) {
      if (named.region->count > 0 && Only(named.region->count)) {
        Diagnosis d = Pattern(
            named.key, absl::StrCat(named.words, " (", named.region->count,
                                    " in ", numbers, "): ", first));
        return MayRepeatInput(std::move(d));
      }
    }
    return MayDifferInPart(MayRepeatInput(
        Pattern("other", absl::StrCat(numbers, " are wrong: ", first))));
  }

  // Rows that keep what they held may as well have been written with what they
  // held, and with the right bytes beside it.
  Diagnosis MayDifferInPart(Diagnosis d) const {
    if (const char* part = OnlyPartThatDiffers(); part != nullptr) {
      AddTo(d, part);
    }
    return d;
  }

  // Who returns its input may be right in some part by chance.
  Diagnosis MayRepeatInput(Diagnosis d) const {
    if (damage_.rows > 0 &&
        RowsThatRepeatInput(/*wrong=*/false) >= damage_.rows) {
      d.also.push_back(kRepeats);
    }
    return d;
  }

  // Whether `other` stores rows that the contract skips. Their addresses may
  // wrap around in 64 bits and fall anywhere.
  bool StoresSkipped(const Contract& other) const {
    return oracle::PlanWrites(other.writer(), image_.pool, step_)
               .skipped.size() <
           oracle::PlanWrites(contract_.writer(), image_.pool, step_)
               .skipped.size();
  }

  // Whether the call left everything as it was.
  bool NothingChanged() const {
    if (after_.pool != before_) return false;
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].output &&
          after_.outputs[i] != absl::MakeConstSpan(step_.tensors[i].bytes)) {
        return false;
      }
    }
    return true;
  }

  // Whether every byte that is wrong is what stood there before.
  bool IsWhatWas() const {
    const auto is = [](absl::Span<const std::uint8_t> want,
                       absl::Span<const std::uint8_t> got,
                       absl::Span<const std::uint8_t> before) {
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (got[i] != want[i] && got[i] != before[i]) return false;
      }
      return true;
    };
    if (!is(oracle::ExpectedPool(expected_, before_), after_.pool, before_)) {
      return false;
    }
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].output &&
          !is(expected_.outputs[i], after_.outputs[i],
              step_.tensors[i].bytes)) {
        return false;
      }
    }
    return true;
  }

  // The name of the one part of rows in which what came back differs from what
  // is expected; null if there are several, or something else differs.
  const char* OnlyPartThatDiffers() const {
    const char* only = nullptr;
    const auto add = [&](const char* part) {
      if (only == nullptr) only = part;
      return part != nullptr && only == part;
    };
    const absl::Span<const std::uint8_t> want =
        oracle::ExpectedPool(expected_, before_);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i] != after_.pool[i] &&
          !add(PartOfPool(static_cast<std::int64_t>(i)))) {
        return nullptr;
      }
    }
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      if (!step_.tensors[t].output) continue;
      for (std::size_t i = 0; i < expected_.outputs[t].size(); ++i) {
        if (expected_.outputs[t][i] != after_.outputs[t][i] &&
            !add(
                PartOfOutput(step_.tensors[t], static_cast<std::int64_t>(i)))) {
          return nullptr;
        }
      }
    }
    return only;
  }

  // Null for a byte of no row, or of a tail that is not rope.
  const char* PartOfPool(std::int64_t at) const {
    if (step_.kernel != Kernel::kWriter) return nullptr;
    const oracle::PoolPlace place = oracle::PlaceInPool(image_.pool, at);
    if (place.slot < 0) return nullptr;
    const RowLayout::Part part = layout_.PartOf(place.byte);
    if (part == RowLayout::Part::kCodes) return "codes-only";
    if (part == RowLayout::Part::kScales) return "scales-only";
    if (part == RowLayout::Part::kPadding) return "padding-only";
    const Tensor* k_pe = step_.Find(TensorId::kKPe);
    return k_pe == nullptr || k_pe->shape[1] == 0 ? "tail" : "rope-only";
  }

  const char* PartOfOutput(const Tensor& tensor, std::int64_t at) const {
    if (tensor.id == TensorId::kDstScales) return "scales-only";
    if (tensor.id != TensorId::kDst || tensor.strides[0] <= 0) return nullptr;
    const std::int64_t column =
        at / DTypeSize(tensor.dtype) % tensor.strides[0];
    if (column >= tensor.shape[1]) return nullptr;
    if (column < oracle::DstShapeOf(contract_.gather(), layout_).codes) {
      return "values-only";
    }
    return step_.step != nullptr && step_.step->gather().nope() ? "tail"
                                                                : "rope-only";
  }

  // Whether `count` is all the damage there is.
  bool Only(std::int64_t count) const {
    std::int64_t sum = 0;
    for (const Region* region : Regions()) sum += region->count;
    return count > 0 && sum == count;
  }

  bool NothingWritten(std::int64_t untouched) const {
    if (step_.kernel != Kernel::kConvert) {
      return damage_.rows > 0 && untouched == damage_.rows && Only(untouched);
    }
    if (!damage_.indices) return false;
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].output &&
          after_.outputs[i] != absl::MakeConstSpan(step_.tensors[i].bytes)) {
        return false;
      }
    }
    return true;
  }

  // Rows that hold the raw bytes of the input; `wrong`: of those that should
  // hold others.
  std::int64_t RowsThatRepeatInput(bool wrong) const {
    return oracle::RowsThatRepeatInput(contract_, image_, index_, before_,
                                       expected_, after_, wrong);
  }

  static constexpr char kRepeats[] = "repeats-input";
  static constexpr char kMissingRows[] = "rows-missing";

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const RowLayout& layout_;
  const absl::Span<const std::uint8_t> before_;
  const StepObservation& observed_;
  const Check& check_;
  AfterImage after_;
  bool seen_ = false;
  Expectation expected_;
  bool matches_ = false;
  Damage damage_;
  // Keys of rules that forbid nothing of what is seen, but predict nothing of
  // it either.
  std::vector<std::string> possible_;
};

}  // namespace

Diagnosis Diagnose(const Contracts& contracts, const CaseImage& image,
                   const Observation& observation, const Check& check) {
  const std::size_t step = static_cast<std::size_t>(check.step);
  if (check.step < 0 || step >= image.steps.size() ||
      step >= observation.steps.size() || image.steps[step].is_patch) {
    return {.field = "",
            .key = check.verdict == Verdict::kProtocol ? "protocol" : "other",
            .cause = check.detail};
  }
  const oracle::PoolHistory history =
      oracle::PoolHistory::Before(image, observation, check.step);
  const Contract& contract =
      *contracts[static_cast<std::size_t>(image.steps[step].kernel)];
  if (image.steps[step].kernel == Kernel::kDecode) {
    DecodeDiagnosis why =
        DiagnoseDecode(contract, image, check.step, history.before(),
                       observation.steps[step], check);
    const bool exact = !why.field.empty();
    return {.field = std::move(why.field),
            .key = std::move(why.key),
            .cause = std::move(why.cause),
            .also = std::move(why.also),
            .possible = std::move(why.possible),
            .exact = exact,
            .says_little = why.says_little};
  }
  return Diagnostician(contract, image, check.step, history,
                       observation.steps[step], check)
      .Run();
}

}  // namespace mlafuzz
