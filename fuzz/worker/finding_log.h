#ifndef MLAFUZZ_FUZZ_WORKER_FINDING_LOG_H_
#define MLAFUZZ_FUZZ_WORKER_FINDING_LOG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "fuzz/worker/cause_filter.h"
#include "fuzz/worker/status.h"
#include "fuzz/worker/worker.pb.h"
#include "properties/checker.h"

namespace mlafuzz {

// Failures of new causes, as files for the supervisor: N.finding in the
// request's folder.
class FindingLog {
 public:
  // All must outlive it.
  FindingLog(const WorkRequest& request, const CaseChecker& checker,
             WorkerStatus& status);

  // The failures of a case, whose binary form is `bytes`. `cpu_nanoseconds`:
  // since the first case, when they were seen. Not OK if a finding could not be
  // handed over.
  absl::Status Record(const CaseResult& result, absl::string_view bytes,
                      std::uint64_t cpu_nanoseconds);
  // The difference of two targets.
  absl::Status RecordDifference(const Failure& failure,
                                absl::string_view bytes);

 private:
  // `result`: null for a difference of two targets.
  absl::Status Write(const Failure& failure, absl::string_view bytes,
                     const CaseResult* result, std::uint64_t cpu_nanoseconds);

  const WorkRequest& request_;
  const CaseChecker& checker_;
  WorkerStatus& status_;
  CauseFilter filter_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_FINDING_LOG_H_
