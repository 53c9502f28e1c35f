#include "oracle/diagnose_ending.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/cause_keys.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"
#include "oracle/neighbour_fit.h"
#include "oracle/outside_memory.h"
#include "oracle/tensor_view.h"
#include "oracle/validity.h"

namespace mlafuzz::oracle {
namespace {

class Ending {
 public:
  Ending(const Contract& contract, const CaseImage& image, int step,
         absl::Span<const std::uint8_t> before, const StepObservation& observed,
         const AfterImage* after, const Check& check)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(before),
        observed_(observed),
        after_(after),
        check_(check),
        kernel_(KernelName(step_.kernel)) {}

  Diagnosis Run() const {
    switch (observed_.status) {
      case CallStatus::kCrash:
      case CallStatus::kHang:
      case CallStatus::kOutOfMemory:
      case CallStatus::kProtocol:
        return OfDeath();
      case CallStatus::kFault:
        return OfLanes();
      default:
        break;
    }
    const StepValidity validity = Classify(contract_, image_, index_);
    const bool refused = observed_.status == CallStatus::kRefused;
    if (validity.validity == Validity::kInvalid) {
      return refused ? OfInvalidRefused(validity) : OfInvalidTaken(validity);
    }
    if (refused) {
      return check_.property == property::kRefusal
                 ? Pattern(kRefusedValid,
                           absl::StrCat("the ", kernel_, " refuses a ",
                                        ValidityName(validity.validity),
                                        " call: ", observed_.message))
                 : Pattern("refused-with-trace", check_.detail);
    }
    if (observed_.status == CallStatus::kError) return OfError();
    return {};
  }

 private:
  Diagnosis OfLanes() const {
    const std::string message = absl::AsciiStrToLower(observed_.message);
    std::string key = "fault";
    for (const char* kind : {"deadlock", "diverge", "race", "watchdog"}) {
      if (absl::StrContains(message, kind)) {
        key = kind == absl::string_view("diverge") ? "divergence" : kind;
        break;
      }
    }
    return Pattern(key, absl::StrCat("the lanes of the ", kernel_,
                                     " were stopped: ", observed_.message));
  }

  Diagnosis OfInvalidRefused(const StepValidity& validity) const {
    return check_.property == property::kRefusal
               ? Pattern("refused-silently",
                         absl::StrCat(
                             "the ", kernel_,
                             " refuses without a reason: ", validity.reason))
               : Pattern("refused-with-trace",
                         absl::StrCat(
                             "the ", kernel_,
                             " refuses, but leaves a trace: ", check_.detail));
  }

  Diagnosis OfInvalidTaken(const StepValidity& validity) const {
    Diagnosis d = {.field = validity.rule,
                   .key = "accepted-invalid",
                   .cause = absl::StrCat(
                       "the ", kernel_, " accepts what its contract refuses (",
                       validity.rule, "): ", validity.reason)};
    // Who does nothing refuses nothing.
    if (after_ != nullptr && NothingChanged(step_, before_, *after_)) {
      d.also.push_back(kNothingWritten);
    }
    return d;
  }

  Diagnosis OfError() const {
    if (step_.kernel == Kernel::kWriter &&
        Length(step_.Find(TensorId::kSlotMapping)) == 0) {
      for (const Neighbour& n : Neighbours(contract_, step_.kernel)) {
        if (n.changed == WriterContract::ZeroTokens_Name(
                             WriterContract::ZERO_TOKENS_LAUNCH_ERROR)) {
          return BehavesAs(n, absl::StrCat("a call without tokens ends in: ",
                                           observed_.message));
        }
      }
    }
    return Pattern("error", absl::StrCat("the ", kernel_, " reports an error: ",
                                         observed_.message));
  }

  // The process died. A rule that reaches outside of the tensors is the reason
  // if it reaches the address at which the process died, and possible if that
  // is another one: what was read or written outside may have led there. An
  // exception, an abort or a division by zero is none of its doing.
  Diagnosis OfDeath() const {
    Diagnosis first;
    std::vector<std::string> possible;
    for (const Neighbour& n : Neighbours(contract_, step_.kernel)) {
      if (!observed_.fault.has_value()) break;
      const Expectation other = Expect(n.contract, image_, index_, before_);
      if (other.outside_writes == 0 && !ReadsForeign(n, other)) continue;
      const std::string why = WhyDied(n, other);
      if (why.empty()) {
        possible.push_back(KeyOf(n));
        continue;
      }
      Diagnosis d = BehavesAs(
          n, absl::StrCat("the process died (", check_.detail, "); that rule ",
                          why, ", this one among them"));
      if (first.key.empty()) {
        first = std::move(d);
      } else {
        AddAlso(first, d.key);
      }
    }
    if (first.key.empty()) {
      const std::string name = CallStatusName(observed_.status);
      first = Pattern(name, absl::StrCat("the ", kernel_, " ended in ", name,
                                         ": ", check_.detail));
    }
    first.possible = std::move(possible);
    return first;
  }

  // What the rule does at the address at which the process died; empty if
  // nothing. `other`: what it predicts.
  std::string WhyDied(const Neighbour& n, const Expectation& other) const {
    if (Contains(OutsideWrites(n.contract, image_.pool, step_),
                 *observed_.fault)) {
      return absl::StrCat("sends ", other.outside_writes, " rows outside ",
                          step_.kernel == Kernel::kGather ? "dst" : "the pool");
    }
    if (ReadsForeign(n, other) &&
        Contains(OutsideReads(n.contract, image_.pool, step_),
                 *observed_.fault)) {
      return absl::StrCat("reads outside of the tensors for ",
                          other.unsettled.size(), " rows");
    }
    return "";
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const absl::Span<const std::uint8_t> before_;
  const StepObservation& observed_;
  const AfterImage* const after_;
  const Check& check_;
  const std::string kernel_;
};

}  // namespace

Diagnosis DiagnoseEnding(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed,
                         const AfterImage* after, const Check& check) {
  return Ending(contract, image, step, pool_before, observed, after, check)
      .Run();
}

}  // namespace mlafuzz::oracle
