#include "oracle/decode/diagnose_decode_ending.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/cause_keys.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/outside_reads.h"
#include "oracle/decode/validity_decode.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/outside_memory.h"

namespace mlafuzz::oracle {
namespace {

// A rule or a fault that may read outside of the caches.
struct Suspect {
  Contract contract;
  ExpectOptions options;
  bool is_fault = false;  // its options then say what it does
  Diagnosis named;
};

// Above all that a process can address: of an access there the processor tells
// no address. (Slot INT32_MAX of rows of 528 bytes lies there; a negative
// slot's row lies below the caches, where addresses are.)
bool IsFar(const ByteRange& row) { return row.begin >= std::int64_t{1} << 40; }

class DecodeEnding {
 public:
  DecodeEnding(const Contract& contract, const CaseImage& image, int step,
               absl::Span<const std::uint8_t> before,
               const StepObservation& observed, const ObservedRows& rows,
               const Check& check)
      : contract_(contract),
        image_(image),
        index_(step),
        before_(before),
        observed_(observed),
        rows_(rows),
        check_(check) {}

  Diagnosis Run() const {
    switch (observed_.status) {
      case CallStatus::kOk:
        return OfReturn();
      case CallStatus::kRefused:
        return OfRefusal();
      case CallStatus::kFault:
        return OfLanes();
      default:
        return OfDeath();
    }
  }

 private:
  Diagnosis OfReturn() const {
    const StepValidity validity = ClassifyDecode(contract_, image_, index_);
    if (validity.validity == Validity::kInvalid) {
      Diagnosis d = Pattern(
          absl::StrCat("accepted-invalid:", validity.rule),
          absl::StrCat("the decode takes an invalid call: ", validity.reason));
      if (rows_.well_formed() && rows_.Untouched()) d.also = {kNothingWritten};
      return d;
    }
    if (check_.property == property::kMemory) return OfMemorySafety();
    if (check_.property == property::kWrittenSet) {
      return Pattern("foreign-bytes", check_.detail);
    }
    return {};
  }

  Diagnosis OfLanes() const {
    const std::string message = absl::AsciiStrToLower(observed_.message);
    for (const auto& [word, key] :
         {std::pair("deadlock", "deadlock"), std::pair("diverge", "divergence"),
          std::pair("race", "race")}) {
      if (absl::StrContains(message, word)) {
        return Pattern(key, observed_.message);
      }
    }
    return Pattern("fault", observed_.message);
  }

  Diagnosis OfMemorySafety() const {
    if (OnlyMisaligned()) {
      Diagnosis d = Pattern("memory", check_.detail);
      for (const DecodeFault& fault : DecodeFaults(contract_, image_, index_)) {
        if (LessAligned(fault.options)) AddPossible(d, fault.key);
      }
      return d;
    }
    if (Diagnosis d = OfOutsideReads(); !d.key.empty()) return d;
    return Pattern("memory", check_.detail);
  }

  bool LessAligned(const ExpectOptions& options) const {
    return ReadsLessAligned(contract_, image_, index_, options);
  }

  // Whether a sanitizer spoke, of nothing but alignment.
  bool OnlyMisaligned() const {
    return observed_.strays.empty() && !observed_.reports.empty() &&
           std::all_of(observed_.reports.begin(), observed_.reports.end(),
                       [](const std::string& report) {
                         return absl::StrContains(report, "misaligned");
                       });
  }

  // Rules, then faults.
  std::vector<Suspect> Suspects() const {
    std::vector<Suspect> suspects;
    for (Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      Diagnosis named = DecodesAsUnder(n, "reads outside the pool as under");
      suspects.push_back({std::move(n.contract), {}, false, std::move(named)});
    }
    for (const DecodeFault& fault : DecodeFaults(contract_, image_, index_)) {
      Diagnosis named = Pattern(
          fault.key,
          absl::StrCat("the decode reads outside the pool: ", fault.cause));
      suspects.push_back({contract_, fault.options, true, std::move(named)});
    }
    return suspects;
  }

  // Of several suspects the first names the cause.
  static void Accuse(Diagnosis named, const std::string& seen,
                     Diagnosis& first) {
    if (first.key.empty()) {
      absl::StrAppend(&named.cause, seen);
      first = std::move(named);
    } else {
      AddAlso(first, named.key);
    }
  }

  // As of other kernels (oracle/diagnose_ending.h). Where the processor tells
  // no address, a row that lies too far away was the reason, and one that is
  // not aligned may have been.
  Diagnosis OfDeath() const {
    Diagnosis first;
    std::vector<std::string> possible;
    if (observed_.fault.has_value()) {
      for (Suspect& suspect : Suspects()) {
        const std::vector<ByteRange> reads = DecodeOutsideReads(
            suspect.contract, image_, index_, suspect.options);
        if (ReadWhereItDied(reads)) {
          Accuse(std::move(suspect.named),
                 absl::StrCat(", where the process died: ", check_.detail),
                 first);
        } else if (!reads.empty() ||
                   (suspect.is_fault && LessAligned(suspect.options))) {
          possible.push_back(suspect.named.key);
        }
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

  bool ReadWhereItDied(const std::vector<ByteRange>& reads) const {
    if (Contains(reads, *observed_.fault)) return true;
    const bool told =
        observed_.fault->from_pool != std::numeric_limits<std::int64_t>::min();
    return !told && std::any_of(reads.begin(), reads.end(), IsFar);
  }

  // Rules that read rows outside the pool, which the declared one does not:
  // what a sanitizer says of that is theirs. Not that something was written.
  Diagnosis OfOutsideReads() const {
    Diagnosis first;
    if (!observed_.strays.empty()) return first;
    for (Suspect& suspect : Suspects()) {
      if (ExpectDecode(suspect.contract, image_, index_, before_,
                       suspect.options)
              .outside_reads == 0) {
        continue;
      }
      Accuse(std::move(suspect.named), absl::StrCat(": ", check_.detail),
             first);
    }
    return first;
  }

  Diagnosis OfRefusal() const {
    const Validity validity =
        ClassifyDecode(contract_, image_, index_).validity;
    if (validity == Validity::kInvalid) {
      return Pattern(check_.property == property::kRefusal
                         ? "refused-silently"
                         : "refused-with-a-trace",
                     check_.detail);
    }
    Diagnosis first;
    for (const Neighbour& n : Neighbours(contract_, Kernel::kDecode)) {
      if (ClassifyDecode(n.contract, image_, index_).validity !=
          Validity::kInvalid) {
        continue;
      }
      Accuse(DecodesAsUnder(n, "refuses a call as under"), "", first);
    }
    if (!first.key.empty()) {
      // Who refuses everything refuses this as well.
      first.also.push_back(kRefusedValid);
      return first;
    }
    return Pattern(kRefusedValid,
                   absl::StrCat("the decode refuses a ", ValidityName(validity),
                                " call: ", observed_.message));
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const absl::Span<const std::uint8_t> before_;
  const StepObservation& observed_;
  const ObservedRows& rows_;
  const Check& check_;
};

}  // namespace

Diagnosis DiagnoseDecodeEnding(const Contract& contract, const CaseImage& image,
                               int step,
                               absl::Span<const std::uint8_t> pool_before,
                               const StepObservation& observed,
                               const ObservedRows& rows, const Check& check) {
  return DecodeEnding(contract, image, step, pool_before, observed, rows, check)
      .Run();
}

}  // namespace mlafuzz::oracle
