#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_VERIFY_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_VERIFY_H_

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"
#include "fuzz/campaign/reproducer/source.h"

namespace mlafuzz {

// What became of a reproducer in an empty folder with an empty environment.
struct Verification {
  bool verified = false;  // it was built, and showed the bug in every run
  int failed = 0;         // runs that showed it, of
  int runs = 0;
  std::string compiler;  // or interpreter: its version; empty: none was found
  std::string words;     // all of that as a sentence
  std::string output;    // of the first run
};

inline constexpr int kVerifyRuns = 3;

// Builds `source` as its head says, with the first compiler in $PATH (c++, g++,
// clang++; nvcc also where the CUDA Toolkit is installed by default), and runs
// it kVerifyRuns times. A machine without a compiler, GoogleTest or a GPU
// verifies nothing, and `words` says so. Ends at `until` and at a signal. A
// script is not built, and run by `interpreter` (kernels/foreign/python.h).
Verification VerifyReproducer(ReproducerKind kind, absl::string_view source,
                              std::chrono::steady_clock::time_point until,
                              const std::string& interpreter = "");

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_VERIFY_H_
