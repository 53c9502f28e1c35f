#include "fuzz/worker/observe_mode.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/evidence.h"
#include "fuzz/worker/session.h"
#include "kernels/foreign/foreign_target.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// Whether the check fails by the wanted cause, first or among others.
bool Gives(const CaseChecker& checker, const CaseResult& result,
           const Check& check, const std::string& cause) {
  const Diagnosis why = checker.Why(result, check);
  return CauseKey(check, why) == cause ||
         std::any_of(
             why.also.begin(), why.also.end(), [&](const std::string& key) {
               return absl::StrCat(KernelName(check.kernel), "/", key) == cause;
             });
}

// Null: every check passes.
const Check* WantedCheck(const CaseChecker& checker, const CaseResult& result,
                         const std::string& cause) {
  const Check* first = nullptr;
  for (const Check& check : result.checks) {
    if (!IsFailure(check.verdict) || IsRelation(check.property)) continue;
    if (Gives(checker, result, check, cause)) return &check;
    if (first == nullptr) first = &check;
  }
  return first;
}

std::size_t BytesOf(const CaseImage& image) {
  std::size_t bytes = image.pool.bytes.size();
  for (const StepImage& step : image.steps) {
    for (const Tensor& tensor : step.tensors) bytes += tensor.bytes.size();
  }
  return bytes;
}

Evidence Observe(Session& session, const Case& c, const std::string& cause) {
  Evidence evidence;
  CheckOptions options = Session::ReplayOptions(c);
  options.all_relations = false;
  CaseResult result;
  const CaseChecker& checker = session.checker();
  if (const absl::Status s = session.checker().CheckCase(c, options, &result);
      !s.ok()) {
    evidence.set_error(std::string(s.message()));
    return evidence;
  }
  const Check* check = WantedCheck(checker, result, cause);
  const auto step =
      static_cast<std::size_t>(check == nullptr ? 0 : check->step);
  if (check == nullptr) {
    evidence.set_error(
        "the case is right when it runs alone; what is wrong shows between "
        "runs");
  } else if (step >= result.image.steps.size() ||
             step >= result.observation.steps.size() ||
             result.image.steps[step].is_patch) {
    evidence.set_error("it is no call that went wrong");
  } else if (BytesOf(result.image) > kMostEvidenceBytes) {
    evidence.set_error(absl::StrCat("the case has more than ",
                                    kMostEvidenceBytes >> 20,
                                    " MiB of buffers"));
  } else {
    const Kernel kernel = result.image.steps[step].kernel;
    evidence =
        EvidenceOf(*checker.contracts()[static_cast<std::size_t>(kernel)],
                   result.image, result.observation, static_cast<int>(step));
    const ForeignTarget* foreign = session.targets().For(kernel)->foreign();
    if (foreign != nullptr) {
      evidence.set_scratch_bytes(foreign->description().scratch_bytes());
    }
  }
  return evidence;
}

}  // namespace

absl::Status ObserveCase(const WorkRequest& request, WorkerStatus& status) {
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  const absl::StatusOr<Case> c =
      request.cases_size() == 1
          ? ParseCaseBinary(request.cases(0))
          : absl::InvalidArgumentError("observe takes one case");
  if (!c.ok()) return c.status();
  status.Begin(request.cases(0));
  const Evidence evidence = Observe(**session, *c, request.cause());
  status.End();
  status.Add(status.cases);
  return WriteFileAtomically(absl::StrCat(request.out(), "/evidence.result"),
                             evidence.SerializeAsString());
}

}  // namespace mlafuzz
