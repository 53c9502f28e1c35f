#ifndef MLAFUZZ_FUZZ_WORKER_DISTINCT_H_
#define MLAFUZZ_FUZZ_WORKER_DISTINCT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "corpus/image.h"

namespace mlafuzz {

// Distinct 64-bit hashes in bounded memory: all of them up to `most`; then, and
// whenever it is full again, half of all hashes no longer count, drawn by the
// hash itself, and those that do stand for twice as many. So what is kept
// depends on the hashes alone, not on who met them first, and such samples can
// be put together. With between most/2 and most of them the standard error is
// below sqrt(2/most): 0.14 % at kMost.
class HashSample {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  explicit HashSample(std::size_t most = kMost) : most_(most) {}

  // How many more distinct hashes there are with this one: 0 if it was there or
  // does not count, else 2^level().
  std::uint64_t Add(std::uint64_t hash);
  // Leaves at most one hash in 2^level.
  void Thin(int level);

  int level() const { return level_; }  // 0: nothing was left out
  std::uint64_t count() const { return kept_.size() << level_; }
  const absl::flat_hash_set<std::uint64_t>& kept() const { return kept_; }

 private:
  bool Counts(std::uint64_t hash) const;

  const std::size_t most_;
  int level_ = 0;
  absl::flat_hash_set<std::uint64_t> kept_;
};

// The cases seen so far, by hash, for each kernel that they call. Also kept in
// files, so that the supervisor can count over all jobs what each of them
// counts alone. A killed process loses at most kBuffered hashes a kernel: the
// count is then too low, never too high.
class DistinctCases {
 public:
  static constexpr std::size_t kBuffered = 1024;

  // Files `folder`/distinct.JOB.KERNEL; gone on with if they exist. At most
  // `most` hashes a kernel are kept, here and there.
  DistinctCases(const std::string& folder, std::uint32_t job,
                std::size_t most = HashSample::kMost);
  ~DistinctCases();

  // How many more cases the kernel has with this one; see HashSample::Add().
  std::uint64_t Add(Kernel kernel, std::uint64_t hash);
  void Flush();

 private:
  struct One {
    std::string path;
    HashSample seen;
    int written_level = 0;
    std::vector<std::uint64_t> unwritten;
  };
  static void Flush(One& one);
  std::vector<One> kernels_;
};

struct DistinctCount {
  std::uint64_t cases = 0;
  bool estimated = false;  // from a sample, as HashSample says
};
// Distinct cases of a kernel over all files in `folder`.
DistinctCount CountDistinct(const std::string& folder, Kernel kernel,
                            std::size_t most = HashSample::kMost);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_DISTINCT_H_
