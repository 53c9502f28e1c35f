#ifndef MLAFUZZ_PROPERTIES_FUSED_FUSED_CHECKER_H_
#define MLAFUZZ_PROPERTIES_FUSED_FUSED_CHECKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corpus/image.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

struct FusedOptions {
  std::size_t most_cases = 4096;                     // a call
  std::int64_t most_bytes = std::int64_t{64} << 20;  // a call, pool and tensors
  // One in so many of the fused cases is run alone, too: drawn from the case.
  std::uint64_t alone_one_in = 18;
  int threads = 1;  // that lay out, judge and take apart
  // Calls on memory that is lent to a GPU; null: bytes travel to the runner and
  // back.
  LentCalls* lent = nullptr;
  // What the device passes is judged by the host, too: Check() is not OK where
  // the two differ in anything.
  bool judge_twice = false;
  // A call that was not judged on lent memory, or whose members could not be
  // told, and why.
  std::function<void(const std::string&)> log = [](const std::string&) {};
  // Relations of cases that run alone.
  std::function<CheckOptions(const Case&)> relations = [](const Case&) {
    return CheckOptions();
  };
  // Time is over: what is not begun is postponed, but for a few cases.
  std::function<bool()> stop = [] { return false; };
  // Now and then, so that a watchdog sees life.
  std::function<void()> progress = [] {};
};

// Of cases that were judged: `fused` and `alone` are all of them. One that is
// postponed is in neither, until it was judged.
struct FusedCounts {
  std::uint64_t fused = 0;       // cases that a shared call told of
  std::uint64_t calls = 0;       // that they shared
  std::uint64_t alone = 0;       // cases of which no shared call told
  std::uint64_t rerun = 0;       // of `fused`: ran alone, too
  std::uint64_t lent = 0;        // of `fused`: passed on lent memory
  std::uint64_t untold = 0;      // calls that ended badly and told of none
  std::uint64_t only_fused = 0;  // cases that fail among others alone: findings
  std::uint64_t only_alone = 0;  // cases that fail without others alone
  // By kernel: calls that were not made, since others were made with them.
  std::array<std::uint64_t, kAllKernels.size()> shared = {};
  double lay_seconds = 0;    // laying cases out, and taking results apart
  double run_seconds = 0;    // in the executor, of fused calls
  double judge_seconds = 0;  // of fused cases
  double alone_seconds = 0;  // of all that ran alone: run and judged
};

// Cases that were judged by what a shared call left, and those of them that
// were drawn to run alone, too: never fewer than one in twenty.
struct FusedDraws {
  std::uint64_t judged = 0;
  std::uint64_t drawn = 0;
};

// A case, and what is known of it.
struct FusedInput {
  CaseImage image;
  // FuseKey(); empty: it shares no call.
  std::string key;
  std::uint64_t hash = 0;  // CaseHash()
};

struct FusedResult {
  CaseResult result;
  std::size_t together = 1;   // cases in the call that was judged
  bool rerun = false;         // and then it ran alone, which `result` is of
  bool judged_twice = false;  // in both
  // Not judged: too many others ended their process. `result` has the image
  // alone; to be checked again.
  bool postponed = false;
};

// Judges cases that share calls. Cases of one FuseKey are laid into one call;
// each is judged by its own bytes of what came back. What may not be fused runs
// alone, as does, after its fused call,
//   - one case in `alone_one_in`, and those with which a call passes 64, 128,
//     ... rows: sizes at which kernels dispatch;
//   - every case that failed, and all cases of a call that did not end well or
//     left bytes that are nobody's: its verdict is the one it has alone;
//   - all cases of a call one of which failed among others and not alone: if
//     one of them is wrong alone, it was that one's doing. If none is, it fails
//     the relation "fused", a BATCH finding: what it does is right, and what
//     the batch does is not.
// A refusal of a fused call says nothing of its cases. A case that fails alone
// and passed among others is its own finding, and its detail says so.
class FusedChecker {
 public:
  // All must outlive the checker.
  FusedChecker(CaseChecker& checker, const TargetSet& targets,
               Executor& executor, FusedOptions options)
      : checker_(checker),
        targets_(targets),
        executor_(executor),
        options_(std::move(options)) {}

  // One result an input, in their order. Not OK if the executor cannot go on. A
  // case that ends its process takes seconds: after a few of them what is left
  // to run alone is postponed, so that findings need not wait for it.
  absl::Status Check(std::vector<FusedInput> inputs,
                     std::vector<FusedResult>* results);
  // Of cases of which nothing is known. Those for which `alone` is set share no
  // call; empty: all may.
  absl::Status Check(std::vector<CaseImage> images,
                     std::vector<FusedResult>* results,
                     const std::vector<char>& alone = {});

  const FusedCounts& counts() const { return counts_; }

 private:
  CaseChecker& checker_;
  const TargetSet& targets_;
  Executor& executor_;
  FusedOptions options_;
  FusedCounts counts_;
  FusedDraws draws_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_FUSED_CHECKER_H_
