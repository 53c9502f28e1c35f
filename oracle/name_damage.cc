#include "oracle/name_damage.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "oracle/cause_keys.h"
#include "oracle/damage.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/differing_part.h"
#include "oracle/first_seen.h"
#include "oracle/part_words.h"
#include "oracle/repeats_input.h"

namespace mlafuzz::oracle {
namespace {

class DamageName {
 public:
  explicit DamageName(const WrongStep& wrong)
      : wrong_(wrong), damage_(wrong.damage) {}

  Diagnosis Run() const {
    if (wrong_.matches) return OfMemorySafety();
    const std::int64_t untouched =
        damage_.untouched_rows.count + damage_.missing_rows.count;
    if (NothingWritten(untouched)) {
      return MayDifferInPart(MayRepeatInput(Pattern(
          kNothingWritten,
          absl::StrCat("the ", KernelName(wrong_.step.kernel), " left all ",
                       damage_.rows, " rows as they were"))));
    }
    const std::string first = FirstSeen(wrong_);
    if (const std::int64_t repeats =
            RowsThatRepeatInput(wrong_, /*wrong=*/true);
        repeats > 0) {
      return Pattern(
          kRepeatsInput,
          absl::StrCat(repeats, " of ", damage_.rows,
                       " rows hold the raw bytes of the input: ", first));
    }
    if (Only(untouched)) {
      return MayDifferInPart(Pattern(
          kMissingRows, absl::StrCat(untouched, " of ", damage_.rows,
                                     " rows were never written: ", first)));
    }
    const std::string rows =
        absl::StrCat(damage_.wrong_rows, " of ", damage_.rows, " rows");
    if (Diagnosis d = OfOnePart(rows, first); !d.key.empty()) {
      return MayRepeatInput(std::move(d));
    }
    return MayDifferInPart(MayRepeatInput(
        Pattern("other", absl::StrCat(rows, " are wrong: ", first))));
  }

 private:
  Diagnosis OfMemorySafety() const {
    const std::string& detail = wrong_.check.detail;
    if (!wrong_.observed.strays.empty()) {
      return Pattern("writes-outside", detail);
    }
    if (!wrong_.observed.reports.empty()) return Pattern("sanitizer", detail);
    return Pattern("other", detail);
  }

  // Where all that is wrong is of one kind; else no key.
  Diagnosis OfOnePart(const std::string& rows, const std::string& first) const {
    const PartWords words = PartWordsOf(wrong_.contract, wrong_.layout);
    struct Named {
      const Region Damage::* region;
      const char* key;
      absl::string_view words;
    };
    for (const Named& named : std::initializer_list<Named>{
             {&Damage::codes, "codes-only", words.only_codes},
             {&Damage::scales, "scales-only", words.only_scales},
             {&Damage::padding, "padding-only",
              "padding is wrong while all that a row holds is right"},
             {&Damage::rope, "rope-only",
              "rope is wrong while codes and scales are right"},
             {&Damage::gather_rope, "rope-only", words.only_rope_columns},
             {&Damage::tail, "tail", words.only_tail},
             {&Damage::gather_tail, "tail",
              "columns of a row without rope are wrong"},
             {&Damage::values, "values-only", words.only_values},
             {&Damage::gather_scales, "scales-only",
              "copied scales are wrong while the codes are right"},
             {&Damage::skipped_rows, "skipped-rows",
              "rows hold tokens that were to be skipped"},
             {&Damage::counts, "valid-count",
              "counts are wrong while the indices are right"},
             {&Damage::indices, "indices", "indices are wrong"},
             {&Damage::foreign, "foreign-bytes",
              "bytes changed that nobody was to change"}}) {
      const std::int64_t count = (damage_.*named.region).count;
      if (count > 0 && Only(count)) {
        return Pattern(named.key, absl::StrCat(named.words, " (", count, " in ",
                                               rows, "): ", first));
      }
    }
    return {};
  }

  // Rows that keep what they held may as well have been written with what they
  // held, and with the right bytes beside it.
  Diagnosis MayDifferInPart(Diagnosis d) const {
    if (const char* part = OnlyPartThatDiffers(wrong_); part != nullptr) {
      AddAlso(d, part);
    }
    return d;
  }

  // Who returns its input may be right in some part by chance.
  Diagnosis MayRepeatInput(Diagnosis d) const {
    if (damage_.rows > 0 &&
        RowsThatRepeatInput(wrong_, /*wrong=*/false) >= damage_.rows) {
      d.also.push_back(kRepeatsInput);
    }
    return d;
  }

  // Whether `count` is all the damage there is.
  bool Only(std::int64_t count) const {
    std::int64_t sum = 0;
    for (const Region* region : Regions(damage_)) sum += region->count;
    return count > 0 && sum == count;
  }

  // `untouched`: rows that were to be written and hold what they held.
  bool NothingWritten(std::int64_t untouched) const {
    if (wrong_.step.kernel != Kernel::kConvert) {
      return damage_.rows > 0 && untouched == damage_.rows && Only(untouched);
    }
    if (!damage_.indices) return false;
    return OutputsUnchanged(wrong_.step, wrong_.after);
  }

  const WrongStep& wrong_;
  const Damage& damage_;
};

}  // namespace

Diagnosis NameDamage(const WrongStep& wrong) { return DamageName(wrong).Run(); }

}  // namespace mlafuzz::oracle
