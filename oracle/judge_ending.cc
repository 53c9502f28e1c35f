#include "oracle/judge_ending.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mlafuzz::oracle {

std::string WhySkipped(Kernel kernel, const StepObservation& observed) {
  return observed.message.empty()
             ? absl::StrCat("the target has no ", KernelName(kernel))
             : observed.message;
}

void EndingJudge::Add(const char* property, Verdict verdict, std::string detail,
                      double of_bound) {
  checks_->push_back({.step = step_,
                      .kernel = kernel_,
                      .property = property,
                      .verdict = verdict,
                      .detail = std::move(detail),
                      .of_bound = of_bound});
}

bool EndingJudge::EndedAbnormally() {
  Verdict verdict;
  switch (observed_.status) {
    case CallStatus::kCrash:
      verdict = Verdict::kCrash;
      break;
    case CallStatus::kHang:
      verdict = Verdict::kHang;
      break;
    case CallStatus::kOutOfMemory:
      verdict = Verdict::kOutOfMemory;
      break;
    case CallStatus::kProtocol:
      verdict = Verdict::kProtocol;
      break;
    default:
      return false;
  }
  std::string detail = observed_.message;
  for (const std::string& report : observed_.reports) {
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", report);
  }
  Add(property::kMemory, verdict, std::move(detail));
  return true;
}

void EndingJudge::Malformed() {
  Add(property::kMemory, Verdict::kProtocol,
      "the observation's buffers have other sizes than the case's");
}

bool EndingJudge::EndedWithoutResult(
    const StepValidity& validity, const std::function<std::string()>& trace) {
  const bool refused = observed_.status == CallStatus::kRefused;
  if (validity.validity == Validity::kInvalid) {
    if (refused) {
      if (observed_.message.empty()) {
        Add(property::kRefusal, Verdict::kFail,
            absl::StrCat("refused without a reason: ", validity.reason));
      } else {
        Add(property::kRefusal, Verdict::kPass);
      }
      JudgeNoTrace(trace);
    } else {
      Add(property::kRefusal, Verdict::kFail,
          absl::StrCat(observed_.status == CallStatus::kOk
                           ? "accepted an invalid call"
                           : absl::StrCat("ended an invalid call with ",
                                          CallStatusName(observed_.status),
                                          " (", observed_.message, ")"),
                       ": ", validity.rule, ": ", validity.reason));
      JudgeMemory(Verdict::kPass);
    }
    return true;
  }
  if (refused) {
    Add(property::kRefusal, Verdict::kFail,
        absl::StrCat("refused a ", ValidityName(validity.validity),
                     " call: ", observed_.message));
    JudgeNoTrace(trace);
    return true;
  }
  if (observed_.status != CallStatus::kOk) {
    Add(property::kLanes, Verdict::kFail,
        absl::StrCat(CallStatusName(observed_.status), ": ",
                     observed_.message));
    JudgeMemory(Verdict::kPass);
    return true;
  }
  return false;
}

void EndingJudge::JudgeNoTrace(const std::function<std::string()>& trace) {
  std::string changed = trace();
  if (changed.empty()) {
    Add(property::kWrittenSet, Verdict::kPass);
  } else {
    Add(property::kWrittenSet, Verdict::kFail,
        absl::StrCat("a refused call changed ", changed));
  }
  JudgeMemory(Verdict::kPass);
}

void EndingJudge::JudgeMemory(Verdict otherwise) {
  if (observed_.strays.empty() && observed_.reports.empty()) {
    Add(property::kMemory, otherwise);
    return;
  }
  std::string detail;
  for (const Stray& stray : observed_.strays) {
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", stray.count,
                    " bytes changed outside ",
                    stray.tensor ? TensorName(*stray.tensor) : "the pool",
                    "'s own, bytes ", stray.first, " to ", stray.last);
  }
  for (const std::string& report : observed_.reports) {
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", report);
  }
  Add(property::kMemory, Verdict::kFail, std::move(detail));
}

}  // namespace mlafuzz::oracle
