#ifndef MLAFUZZ_PROPERTIES_FUSED_LENT_RUN_H_
#define MLAFUZZ_PROPERTIES_FUSED_LENT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/lent_memory.h"
#include "kernels/target_set.h"
#include "properties/fused/decode_telling.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/host_expectations.h"
#include "properties/fused/lay_ahead.h"
#include "properties/fused/lent_calls.h"
#include "properties/fused/lent_layout.h"
#include "properties/fused/pools_on_device.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {

// One call at work: LentCalls::Run().
class LentRun {
 public:
  struct Owner {
    const TargetSet& targets;
    ForeignExecutor& executor;
    LentMemory& memory;
    LentCalls::Times& times;
    std::uint64_t& copied_bytes;
    std::uint64_t& decodes_passed;
    LayAhead& ahead;
    bool keep_all;            // LentCalls::KeepAll()
    std::uint64_t fill_from;  // LentCalls::FillFrom()
    // Set when memory is of no further use.
    std::string& lost;
  };

  // From byte `from` on in all memories. All must outlive it.
  LentRun(const Owner& owner, const FusedCase& fused,
          const Contracts& contracts, int threads, std::uint64_t from = 0);

  using Result = LentCalls::Result;

  // By itself. `next` is laid while the device works; null: there is none.
  absl::StatusOr<Result> Run(const FusedCase* next);

  // ---- one of several calls in an exchange: LentCalls::RunAll()

  std::size_t steps() const { return image_.steps.size(); }
  const Target* TargetOf(std::size_t step) const {
    return owner_.targets.For(image_.steps[step].kernel);
  }
  std::uint64_t end() const { return layout_.used(); }
  // Whether the host looks at anything itself, or has bytes for the reference.
  bool IsLookedAt() const;
  bool IsReferredTo() const;
  // Of LentMemory::Rows(), for what Plan() has to say to the device.
  std::uint64_t plan_bytes() const;
  void PlanAt(std::uint8_t* rows, std::uint64_t offset);
  // What the host has to know of all members. False: its bytes do not follow
  // from its contract alone.
  bool Plan(int threads);
  const LentLayout& layout() const { return layout_; }
  // Begins to fill its pool, where the device does that.
  absl::Status Fill() {
    return pools_.has_value() ? pools_->Begin() : absl::OkStatus();
  }
  // Begins to make the reference what the step must leave.
  absl::Status Begin(std::size_t step) { return references_[step]->Begin(); }
  LentCall Describe(std::size_t step) const;
  // All its bytes, but those of steps up to `step` that the host looks at.
  void AddRanges(std::size_t step, std::vector<MlafuzzRange>* ranges) const;
  // Brings what the host looks at. False: there are bytes of nobody's.
  absl::StatusOr<bool> Look(std::size_t step);
  Result AsExpected();

 private:
  using Place = LentLayout::Place;

  // Inputs are on their way, and all that the host has to know is known.
  absl::Status Prepare();
  // The reference for what comes of the step is on the device.
  absl::Status Refer(std::size_t step);
  // `result->why_not`: it did not end well.
  absl::Status Make(std::size_t step, Result* result);
  // Whether all bytes are as expected, but for those that the host looks at;
  // and brings those of the step. `why_not`: the device could not tell them.
  absl::StatusOr<bool> Compare(std::size_t step, std::string* why_not);
  absl::Status Fetch(const Place& place);
  // Whether the host looks at the tensor itself.
  bool IsLooked(std::size_t step, std::size_t t) const;

  // Of a call of which some byte is not as expected: a step that was, and what
  // a step left, whatever it is.
  void Remember(std::size_t step, Observation* seen) const;
  absl::Status Observe(std::size_t step, Observation* seen);

  // Everything was as expected.
  void Judge(Result* result);
  // What the host has, or looks at, of member m.
  Observation SeenOf(std::size_t m) const;
  std::vector<Check> ChecksOf(std::size_t m, const Observation& seen) const;
  // Members that are right, and had something to do, have checks that follow
  // from what all have in common.
  bool IsPlain(std::size_t m) const;

  const Owner owner_;
  LentMemory& memory_;
  const FusedCase& fused_;
  const Contracts& contracts_;
  const int threads_;
  const FusedCase* next_ = nullptr;
  const CaseImage& image_;
  const std::size_t size_;  // members
  const LentLayout layout_;
  HostExpectations host_;
  std::optional<PoolsOnDevice> pools_;  // none: they are brought
  const std::vector<std::unique_ptr<StepReference>> references_;
  // By step; null of one whose decodes the host judges, or that has none.
  const std::vector<std::unique_ptr<DecodeTelling>> tellings_;
  bool settled_ = true;
  const std::uint8_t* inputs_ = nullptr;
  const std::uint8_t* results_ = nullptr;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_LENT_RUN_H_
