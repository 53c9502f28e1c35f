#ifndef MLAFUZZ_KERNELS_FOREIGN_SANITIZER_LOG_H_
#define MLAFUZZ_KERNELS_FOREIGN_SANITIZER_LOG_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// What compute-sanitizer reported, one line for each report: its first line and
// where it was, "Invalid __global__ read of size 16 bytes at Kernel+0x2a0".
// Equal ones once, without the blocks and threads in which they happened.
std::vector<std::string> SanitizerReportsIn(absl::string_view log);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_SANITIZER_LOG_H_
