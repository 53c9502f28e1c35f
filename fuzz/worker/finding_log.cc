#include "fuzz/worker/finding_log.h"

#include <bitset>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/step_cause.h"
#include "oracle/judge.h"

namespace mlafuzz {

FindingLog::FindingLog(const WorkRequest& request, const CaseChecker& checker,
                       WorkerStatus& status)
    : request_(request), checker_(checker), status_(status) {
  for (const std::string& cause : request.known_causes()) {
    filter_.AddKnown(cause);
  }
}

absl::Status FindingLog::Record(const CaseResult& result,
                                absl::string_view bytes,
                                std::uint64_t cpu_nanoseconds) {
  std::bitset<kKernels> failed;
  absl::Status written;
  for (const auto& checks : FailuresBySteps(result)) {
    status_.Add(status_.failures, checks.size());
    const Check& first = *checks[0];
    const auto kernel = static_cast<std::size_t>(first.kernel);
    const bool later = failed.test(kernel);
    failed.set(kernel);
    if (!filter_.ShouldDiagnose(first.kernel, first.property)) {
      status_.Add(status_.undiagnosed, checks.size());
      continue;
    }
    std::vector<Failure> failures;
    std::vector<const Check*> of;  // one a failure
    for (const Check* check : checks) {
      for (Failure& failure :
           DescribeFailure(checker_, result, *check, /*explain=*/false)) {
        failures.push_back(std::move(failure));
        of.push_back(check);
      }
    }
    const StepCause cause = CauseOfStep(failures, later, filter_);
    if (cause.what == StepCause::kEarlier) continue;
    const auto record = [&](std::size_t which) {
      Failure& failure = failures[which];
      failure.set_explanation(Explain(checker_.contracts(), result.image,
                                      result.observation, *of[which]));
      written.Update(Write(failure, bytes, &result, cpu_nanoseconds));
    };
    filter_.IsNew(first.kernel, first.property, KeysOf(failures[cause.which]));
    if (cause.what == StepCause::kRecord) record(cause.which);
    // The other of two faults is one of its own, and may never show alone.
    const std::string beside = failures[cause.which].beside();
    for (std::size_t i = 0; !beside.empty() && i < failures.size(); ++i) {
      if (of[i] != of[cause.which] || failures[i].key() != beside) continue;
      if (filter_.IsNew(first.kernel, first.property, KeysOf(failures[i]))) {
        record(i);
      }
    }
  }
  return written;
}

absl::Status FindingLog::RecordDifference(const Failure& failure,
                                          absl::string_view bytes) {
  status_.Add(status_.failures);
  if (!filter_.IsNew(Kernel::kWriter, "difference", KeysOf(failure))) {
    return absl::OkStatus();
  }
  return Write(failure, bytes, nullptr, 0);
}

absl::Status FindingLog::Write(const Failure& failure, absl::string_view bytes,
                               const CaseResult* result,
                               std::uint64_t cpu_nanoseconds) {
  FindingRecord record;
  *record.mutable_failure() = failure;
  record.set_case_binary(std::string(bytes));
  for (std::size_t k = 0; k < kKernels; ++k) {
    record.add_executions(status_.executions[k]);
  }
  record.set_cases(status_.cases);
  if (result != nullptr) {
    record.set_earlier_calls(result->observation.earlier_calls);
    record.set_cpu_seconds(1e-9 * static_cast<double>(cpu_nanoseconds));
  }
  const std::uint64_t number = status_.findings;
  // The supervisor takes them in the order of their names.
  const std::string path =
      absl::StrCat(request_.out(), "/", request_.job(), "-",
                   absl::Dec(number, absl::kZeroPad8), ".finding");
  // One that is not handed over is known here from now on: to go on would be to
  // pass over its cause.
  if (absl::Status s = WriteFileAtomically(path, record.SerializeAsString());
      !s.ok()) {
    return absl::Status(
        s.code(),
        absl::StrCat("a finding could not be handed over: ", s.message(),
                     "; set TMPDIR to a folder with more room, the "
                     "same seed finds it again"));
  }
  status_.Add(status_.findings);
  return absl::OkStatus();
}

}  // namespace mlafuzz
