#include "oracle/call_words.h"

#include "absl/strings/str_cat.h"

namespace mlafuzz::oracle {

std::string CallWords(const StepValidity& validity,
                      const StepObservation& observed) {
  std::string text = absl::StrCat("call: ", ValidityName(validity.validity));
  if (!validity.rule.empty()) {
    absl::StrAppend(&text, " by ", validity.rule, " (", validity.reason, ")");
  }
  absl::StrAppend(&text, ", ended ", CallStatusName(observed.status));
  if (!observed.message.empty()) absl::StrAppend(&text, ": ", observed.message);
  absl::StrAppend(&text, "\n");
  return text;
}

bool IsCompared(const StepValidity& validity, const StepObservation& observed) {
  return observed.status == CallStatus::kOk &&
         (validity.validity == Validity::kValid ||
          validity.validity == Validity::kBoundary);
}

}  // namespace mlafuzz::oracle
