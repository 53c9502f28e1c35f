#ifndef MLAFUZZ_PROPERTIES_FUSED_LENT_CALLS_H_
#define MLAFUZZ_PROPERTIES_FUSED_LENT_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/lent_memory.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "oracle/verdict.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {

// Shared calls on memory that the harness lends to a GPU's runner. Inputs go
// there once and what must come of them beside it; which bytes differ is found
// out on the device, in this process' context, when the runner has waited for
// its own. So only what decodes return, and what is wrong, comes back.
//
// Where a byte is not as expected, all that the call left comes back, for the
// host to judge each case by its own. Slack of kSlack bytes around each tensor
// must stay whole; what lies behind all of them is not mapped.
class LentCalls {
 public:
  static constexpr std::uint64_t kSlack = 4096;

  // For the kernels of `targets`, which all run on one GPU. FailedPrecondition
  // if they do not; Unavailable, and why, if that lends nothing. `bytes`: the
  // most that a call's tensors may take. All must outlive this.
  static absl::StatusOr<std::unique_ptr<LentCalls>> Create(
      const TargetSet& targets, ForeignExecutor& executor, std::uint64_t bytes);

  // On memory that the executor has been lent.
  LentCalls(const TargetSet& targets, ForeignExecutor& executor,
            std::unique_ptr<LentMemory> memory)
      : targets_(targets), executor_(executor), memory_(std::move(memory)) {}

  struct Result {
    // Why the call cannot be made so, or how it ended otherwise than well:
    // then the members say nothing, and nothing else is set. Empty: it was
    // made.
    std::string why_not;
    // All members' bytes are what they must be; each has its checks. Those of
    // decodes, which the host looks at, can fail.
    bool as_expected = false;
    std::vector<Observation> observations;
    std::vector<std::vector<Check>> checks;
    // What they left was worked out on the device, and observations hold no
    // pool: FillPools() does.
    bool pools_left_out = false;
    // Else: what the call left, for FusedCase::Split().
    Observation together;
    // It was as expected by itself, and not in an exchange with others: how
    // that ended. Nothing is to be said of its members then.
    std::string unstable;
  };
  // Not OK if the executor cannot go on. `threads` share what this process
  // does.
  absl::StatusOr<Result> Run(const FusedCase& fused, const Contracts& contracts,
                             int threads);

  // The same of several calls, in as few exchanges as the memory allows: each
  // wakes two processes and has the device change contexts twice. Where
  // anything else than what is expected comes of one, all its calls are made
  // again by themselves: what a call does to another's memory is not the
  // other's fault. `progress` is called now and then.
  absl::StatusOr<std::vector<Result>> RunAll(
      absl::Span<const std::unique_ptr<FusedCase>> calls,
      const Contracts& contracts, int threads,
      const std::function<void()>& progress);

  struct Times {        // seconds, of all calls so far
    double lay = 0;     // inputs into pinned memory
    double expect = 0;  // what must come of them, and laying it
    double copy = 0;    // by the device's clock: to it, and comparing
    double wait = 0;    // for both, and for the runner
    double judge = 0;
  };
  const Times& times() const { return times_; }
  // Bytes that travelled to the device and back.
  std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  class Call;

  // How an exchange of several calls ended.
  struct Together {
    bool as_expected = false;
    std::string why_not;  // of all
    // It is what the target itself or the runtime of its lanes says. A process
    // that dies or hangs may have been harmed from outside.
    bool told = false;
    std::vector<std::size_t> odd;  // whose bytes are not as expected
  };
  absl::StatusOr<Together> RunTogether(absl::Span<Call* const> calls,
                                       int threads);

  const TargetSet& targets_;
  ForeignExecutor& executor_;
  std::unique_ptr<LentMemory> memory_;
  // Why it is of no further use; empty: it is.
  std::string lost_;
  Times times_;
  std::uint64_t copied_bytes_ = 0;
};

// The pools that a case left which is as expected.
void FillPools(const Contracts& contracts, const CaseImage& image,
               Observation* observation);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_LENT_CALLS_H_
