#ifndef MLAFUZZ_BASELINES_BASELINE_H_
#define MLAFUZZ_BASELINES_BASELINE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baselines/calls.h"
#include "baselines/random.h"
#include "corpus/image.h"
#include "kernels/target_set.h"

namespace mlafuzz::baselines {

// One run of a suite on one target: the kernels, the random numbers, and how
// far it came.
class SuiteRun {
 public:
  // `replaced`: the kernels that the target is answerable for.
  SuiteRun(TargetSet targets, std::vector<Kernel> replaced, std::uint64_t seed);

  Calls& calls() { return calls_; }
  const Contract& contract(Kernel kernel) const {
    return calls_.targets().For(kernel)->contract();
  }
  bool Replaces(Kernel kernel) const;

  // Begins the next case and gives its random numbers. `label` says which it
  // is: "8 heads, 16 tokens".
  Random StartCase(std::string label);
  // Random numbers of the whole suite, apart from those of every case.
  Random Shared() const { return Random(generator_.Stream(0)); }

  // An assertion: an empty reason holds. The first that does not is the run's
  // end; suites return when this is false.
  bool Holds(const std::string& why);

  bool failed() const { return failed_; }
  // "case 4 (8 heads, 16 tokens): out[17] is 0, should be 1"
  const std::string& why() const { return why_; }
  // Begun so far.
  int cases() const { return cases_; }

 private:
  ValueGenerator generator_;
  Calls calls_;
  std::vector<Kernel> replaced_;
  std::string label_;
  int cases_ = 0;
  bool failed_ = false;
  std::string why_;
};

// A published way of testing these kernels.
struct Baseline {
  std::string id;
  std::string source;           // OWNER/REPOSITORY path @commit
  std::vector<Kernel> kernels;  // that it exercises
  std::string tolerance;        // in words
  int cases = 0;                // of a run that passes
  bool reduced = false;         // shapes are smaller than the published ones
  // Runs cases until one fails.
  void (*run)(SuiteRun& run) = nullptr;
};

// Each in the file of its name.
Baseline VllmWriter();
Baseline VllmGather();
Baseline VllmBackend();
Baseline FlashInferSm120();
Baseline FlashMlaDecode();
Baseline KernelBenchStyle();
Baseline Cosine();

// All of them.
const std::vector<Baseline>& Baselines();
// NotFound lists those there are.
absl::StatusOr<const Baseline*> FindBaseline(absl::string_view id);

struct Result {
  // False where the target leaves all kernels of the baseline as they are, or
  // has them for another layout: then nothing was run.
  bool applicable = false;
  bool flagged = false;
  std::string why;         // the first failed assertion
  int cases = 0;           // begun
  double cpu_seconds = 0;  // of this process, from the first case to the end
};

// One run on the host backend. `target`: any name that MakeTargetSet knows,
// except on a device or in a library: InvalidArgument for those, NotFound for
// an unknown one.
absl::StatusOr<Result> RunBaseline(const Baseline& baseline,
                                   absl::string_view target,
                                   std::uint64_t seed);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_BASELINE_H_
