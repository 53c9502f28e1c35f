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
#include "properties/fused/lay_ahead.h"
#include "properties/fused/lent_layout.h"

namespace mlafuzz {

class LentRun;

// Shared calls on memory that the harness lends to a GPU's runner. Inputs go
// there once and what must come of them beside it; which bytes differ is found
// out on the device, in this process' context, when the runner has waited for
// its own. So only what decodes return, and what is wrong, comes back.
//
// Where a byte is not as expected, all that the call left comes back, for the
// host to judge each case by its own.
class LentCalls {
 public:
  // For the kernels of `targets`, which all run on one GPU. FailedPrecondition
  // if they do not; Unavailable, and why, if that lends nothing. `bytes`: the
  // most that a call's tensors may take. All must outlive this.
  static absl::StatusOr<std::unique_ptr<LentCalls>> Create(
      const TargetSet& targets, ForeignExecutor& executor, std::uint64_t bytes);

  // On memory that the executor has been lent.
  LentCalls(const TargetSet& targets, ForeignExecutor& executor,
            std::unique_ptr<LentMemory> memory)
      : targets_(targets),
        executor_(executor),
        memory_(std::move(memory)),
        ahead_(*memory_) {}

  struct Result {
    // Why the call cannot be made so, or how it ended otherwise than well:
    // then the members say nothing, and nothing else is set. Empty: it was
    // made.
    std::string why_not;
    // With why_not: it was made.
    bool made = false;
    // All members' bytes are what they must be; each has its checks. Those of
    // decodes, which the host looks at where the device did not pass them, can
    // fail.
    bool as_expected = false;
    const std::vector<Check>& ChecksOf(std::size_t m) const {
      return own_checks[m].empty() ? checks : own_checks[m];
    }
    // Of a member that has none of its own: cases of one FuseKey that are
    // right, and had something to do, have the same.
    std::vector<Check> checks;
    std::vector<std::vector<Check>> own_checks;  // by member
    // By member. Of what exact kernels left, if `left_out`, nothing: it was
    // worked out on the device, and FillLeftOut() does so here.
    std::vector<Observation> observations;
    bool left_out = false;
    // Else, and of KeepAll(): what the call left, for FusedCase::Split().
    Observation together;
    // It was as expected by itself, and not in an exchange with others: how
    // that ended. Nothing is to be said of its members then.
    std::string unstable;
  };
  // Not OK if the executor cannot go on. `threads` share what this process
  // does. `next`: of the call after this one, which is laid while the device
  // works; null: there is none.
  absl::StatusOr<Result> Run(const FusedCase& fused, const Contracts& contracts,
                             int threads, const FusedCase* next = nullptr);

  // The same of several calls, in as few exchanges as the memory allows: each
  // wakes two processes and has the device change contexts twice. Where
  // anything else than what is expected comes of one, all its calls are made
  // again by themselves: what a call does to another's memory is not the
  // other's fault. `progress` is called now and then.
  absl::StatusOr<std::vector<Result>> RunAll(
      absl::Span<const std::unique_ptr<FusedCase>> calls,
      const Contracts& contracts, int threads,
      const std::function<void()>& progress);

  // How the first of these ended that did not end well; empty: all did.
  static std::string HowNot(absl::Span<const CallEnd> ends);

  // All that a call left is brought back, whether or not it is as expected.
  void KeepAll(bool keep) { keep_all_ = keep; }

  // Pools of so many bytes or more are filled on the device.
  void FillFrom(std::uint64_t bytes) { fill_from_ = bytes; }

  struct Times {        // seconds, of all calls so far
    double lay = 0;     // inputs into pinned memory, unless beside the rest
    double expect = 0;  // what must come of them, and laying it
    double copy = 0;    // by the device's clock: to it, and comparing
    double oracle = 0;  // likewise: what the oracle works out there
    double wait = 0;    // for both, and for the runner
    double judge = 0;
    void Add(const MlafuzzLenderTimes& device) {
      copy += device.bring + device.compare + device.fetch;
      oracle += device.refer + device.judge;
    }
  };
  const Times& times() const { return times_; }
  // Bytes that travelled to the device and back.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  // Decodes that the device passed: the host looked at all others.
  std::uint64_t decodes_passed() const { return decodes_passed_; }

 private:
  // How an exchange of several calls ended.
  struct Together {
    bool as_expected = false;
    std::string why_not;  // of all
    // It is what the target itself or the runtime of its lanes says. A process
    // that dies or hangs may have been harmed from outside.
    bool told = false;
    std::vector<std::size_t> odd;  // whose bytes are not as expected
  };
  absl::StatusOr<Together> RunTogether(absl::Span<LentRun* const> calls,
                                       std::uint64_t bytes, int threads);
  std::unique_ptr<LentRun> Open(const FusedCase& fused,
                                const Contracts& contracts, int threads,
                                std::uint64_t from);
  // Why a call cannot be made at all; empty: it can.
  std::string WhyNot(const FusedCase& fused) const;

  const TargetSet& targets_;
  ForeignExecutor& executor_;
  std::unique_ptr<LentMemory> memory_;
  LayAhead ahead_;
  bool keep_all_ = false;
  std::uint64_t fill_from_ = LentLayout::kFillFrom;
  // Why it is of no further use; empty: it is.
  std::string lost_;
  Times times_;
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t decodes_passed_ = 0;
};

// Steps, pools and outputs that exact kernels left of a case which is as
// expected.
void FillLeftOut(const Contracts& contracts, const CaseImage& image,
                 Observation* observation);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_LENT_CALLS_H_
