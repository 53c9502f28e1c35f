#ifndef MLAFUZZ_FUZZ_WORKER_CASE_LOG_H_
#define MLAFUZZ_FUZZ_WORKER_CASE_LOG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// The cases of a campaign in the order in which they ran, in one file: of each
// its size (four bytes, the lowest first) and its binary form. Written before
// the case runs and without a buffer of its own, so that a case that kills the
// process is in it.
class CaseLog {
 public:
  // Appends to what is there. Unavailable if the file cannot be written.
  static absl::StatusOr<std::unique_ptr<CaseLog>> Open(const std::string& path);
  ~CaseLog();
  CaseLog(const CaseLog&) = delete;
  CaseLog& operator=(const CaseLog&) = delete;

  void Append(absl::string_view case_binary);

 private:
  explicit CaseLog(int fd) : fd_(fd) {}
  int fd_;
};

// All of them. NotFound if there is no file, DataLoss if it ends within a case.
absl::StatusOr<std::vector<std::string>> ReadCaseLog(const std::string& path);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_CASE_LOG_H_
