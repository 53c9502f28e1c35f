#ifndef MLAFUZZ_KERNELS_FOREIGN_PROGRAM_FILES_H_
#define MLAFUZZ_KERNELS_FOREIGN_PROGRAM_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace mlafuzz {

// The runner program of kernels/foreign/runner.cc, $MLAFUZZ_RUNNER, or that of
// kernels/device/runner_cuda.cc, $MLAFUZZ_CUDA_RUNNER; else what lies beside
// this program. NotFound says where it was looked for.
absl::StatusOr<std::string> FindRunner(bool device);
// The same for kernels/python/runner.py, $MLAFUZZ_PYTHON_RUNNER.
absl::StatusOr<std::string> FindPythonRunner();
// The same for properties/fused/device/lender.so, $MLAFUZZ_CUDA_LENDER.
absl::StatusOr<std::string> FindLender();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_PROGRAM_FILES_H_
