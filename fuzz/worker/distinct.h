#ifndef MLAFUZZ_FUZZ_WORKER_DISTINCT_H_
#define MLAFUZZ_FUZZ_WORKER_DISTINCT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "corpus/image.h"

namespace mlafuzz {

// The cases seen so far, by 64-bit hash, for each kernel that they call. Also
// kept in files, so that the supervisor can count over all jobs what each of
// them counts alone. A killed process loses at most kBuffered hashes a kernel:
// the count is then too low, never too high.
class DistinctCases {
 public:
  static constexpr std::size_t kBuffered = 1024;

  // Files `folder`/distinct.JOB.KERNEL; appended to if they exist.
  DistinctCases(const std::string& folder, std::uint32_t job);
  ~DistinctCases();

  // True if new for that kernel.
  bool Add(Kernel kernel, std::uint64_t hash);
  void Flush();

 private:
  struct One {
    std::string path;
    absl::flat_hash_set<std::uint64_t> seen;
    std::vector<std::uint64_t> unwritten;
  };
  static void Flush(One& one);
  std::array<One, kAllKernels.size()> kernels_;
};

// Distinct cases of a kernel over all files in `folder`.
std::uint64_t CountDistinct(const std::string& folder, Kernel kernel);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_DISTINCT_H_
