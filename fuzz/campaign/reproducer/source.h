#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

enum class ReproducerKind {
  kCxx,   // a program for any C++11 compiler
  kCuda,  // the same for nvcc, with the buffers in device memory
  kTest,  // a GoogleTest to paste
};
// "c++", "cuda", "gtest".
const char* ReproducerKindName(ReproducerKind kind);
// "repro.cc", "repro.cu", "regression_test.cc".
const char* ReproducerFile(ReproducerKind kind);

struct ReproducerText {
  std::string id;         // of the finding
  std::string cause;      // any bytes: becomes comments
  std::string case_text;  // likewise
  std::string library;    // absolute; what dlopen() gets by default
  // Instead of a library, of kCuda: a target that is compiled in, whose kernel
  // the file embeds.
  std::string kernel;
  std::string environment;  // what it was seen with, a line each
  unsigned seconds = 20;    // that the call may take, loading included
};

// One file that needs nothing of this project: it has the interface that the
// library was built for, the call's buffers and what they have to hold, loads
// the library, makes the call in a process of its own and prints expected and
// got. Exit code 0: all is as expected; 1: the bug is there; 2: it cannot tell,
// for want of the library, say. The first argument names another library.
//
// NotFound for a kernel that cannot be embedded, ResourceExhausted for buffers
// that take more than kMostReproducerBytes once repetitions are folded,
// FailedPrecondition for evidence without a result that could be compared.
inline constexpr std::size_t kMostReproducerBytes = std::size_t{96} << 10;
absl::StatusOr<std::string> ReproducerSource(ReproducerKind kind,
                                             const Evidence& evidence,
                                             const ReproducerText& text);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_
