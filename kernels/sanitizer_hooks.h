#ifndef MLAFUZZ_KERNELS_SANITIZER_HOOKS_H_
#define MLAFUZZ_KERNELS_SANITIZER_HOOKS_H_

#include <string>
#include <vector>

namespace mlafuzz {

// While it lives, what AddressSanitizer and UndefinedBehaviorSanitizer report
// in this process goes to `reports` too, one line each without addresses:
//   "AddressSanitizer: use-after-poison: READ of size 8 in WriteRows() x.cc:7"
//   "UndefinedBehaviorSanitizer: signed-integer-overflow: ... at x.cc:7:3"
// At most kMost lines; one at a time in a process. Inert without sanitizers.
//
// A report must not end the process for this to be of use: instrument with
// -fsanitize-recover=address,undefined and run with
// ASAN_OPTIONS=halt_on_error=0:suppress_equal_pcs=0. UBSan reports each source
// location once in the life of such an object (kernels/ubsan_places.h).
class SanitizerReports {
 public:
  static constexpr std::size_t kMost = 8;

  explicit SanitizerReports(std::vector<std::string>* reports);
  ~SanitizerReports();
  SanitizerReports(const SanitizerReports&) = delete;
  SanitizerReports& operator=(const SanitizerReports&) = delete;
};

// The line for a whole ASan report. For tests.
std::string SummariseAsanReport(const std::string& report);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_SANITIZER_HOOKS_H_
