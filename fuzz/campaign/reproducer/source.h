#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

enum class ReproducerKind {
  kCxx,     // a program for any C++11 compiler
  kCuda,    // the same for nvcc, with the buffers in device memory
  kTest,    // a GoogleTest to paste
  kPython,  // a script that imports a module: numpy, and what the module needs
};
// "c++", "cuda", "gtest", "python".
const char* ReproducerKindName(ReproducerKind kind);
// "repro.cc", "repro.cu", "regression_test.cc", "repro.py".
const char* ReproducerFile(ReproducerKind kind);

struct ReproducerText {
  std::string id;         // of the finding
  std::string cause;      // any bytes: becomes comments
  std::string case_text;  // likewise
  std::string library;    // absolute; what dlopen() gets by default
  // Of kPython: "MODULE[:NAME]", where modules are looked for beside those that
  // are installed, and whether its arrays are on a GPU.
  std::string module;
  std::string folder;
  bool on_device = false;
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
//
// kPython is the same as a script for Python 3.11 or later, whose argument is
// another MODULE[:NAME].
inline constexpr std::size_t kMostReproducerBytes = std::size_t{96} << 10;
absl::StatusOr<std::string> ReproducerSource(ReproducerKind kind,
                                             const Evidence& evidence,
                                             const ReproducerText& text);

// Strides of a buffer as its tensor tells them, in elements. Where scales lie
// behind all rows of a page, evidence has those of the rows, tensors those of
// whole tokens (kernels/target.h).
std::vector<std::int64_t> CallStrides(const Evidence& evidence,
                                      const Evidence::Buffer& buffer);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_SOURCE_H_
