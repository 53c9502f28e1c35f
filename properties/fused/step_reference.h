#ifndef MLAFUZZ_PROPERTIES_FUSED_STEP_REFERENCE_H_
#define MLAFUZZ_PROPERTIES_FUSED_STEP_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "kernels/foreign/lent_memory.h"
#include "oracle/judge.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/host_expectations.h"
#include "properties/fused/lent_layout.h"

namespace mlafuzz {

// Of the tensor, which the step has, among its tensors.
inline std::size_t NumberOf(const StepImage& step, TensorId id) {
  return static_cast<std::size_t>(step.Find(id) - step.tensors.data());
}

// A call on lent memory, as references of its steps see it.
struct LentContext {
  const FusedCase& fused;
  const Contracts& contracts;
  const LentLayout& layout;
  LentMemory& memory;
  HostExpectations& host;
  int threads;
  std::uint64_t& copied_bytes;  // that travelled to the device and back
};

// How what one step of a call must leave comes to be in the reference, beside
// the lent memory: worked out on the device from the reference as the steps
// before left it, or by the host, whose bytes then travel there.
class StepReference {
 public:
  virtual ~StepReference() = default;
  StepReference(const StepReference&) = delete;
  StepReference& operator=(const StepReference&) = delete;

  // Bytes of LentMemory::Rows() that Plan() fills; they go along with Begin().
  virtual std::uint64_t plan_bytes() const { return 0; }
  // Where they lie there, before the first Plan().
  virtual void PlanAt(std::uint8_t* rows, std::uint64_t offset) {
    (void)rows;
    (void)offset;
  }

  // What the host has to know of member m, while inputs travel; several threads
  // have members of their own each. Of one member, steps in their order. False:
  // what the step leaves does not follow from its contract alone.
  virtual bool Plan(std::size_t m) = 0;

  // Begins to make the reference what the step must leave.
  virtual absl::Status Begin() = 0;

  // Of member m, after Plan(): Expectation::written, or at least whether it is
  // 0.
  virtual std::int64_t Written(std::size_t m) const = 0;

  // The device works it out: the host has none of its bytes.
  virtual bool OnDevice() const = 0;

 protected:
  StepReference() = default;
};

// One a step of `context.fused`. All are worked out in one place: by the host,
// where the device cannot tell one. Those of decodes are without a byte: their
// outputs are within bounds, which the host looks at.
std::vector<std::unique_ptr<StepReference>> MakeReferences(
    const LentContext& context);

// By the host.
std::unique_ptr<StepReference> MakeHostReference(const LentContext& context,
                                                 std::size_t step);

// By the device. Null where a contract's rules are no numbers.
std::unique_ptr<StepReference> MakeWriteReference(const LentContext& context,
                                                  std::size_t step);
std::unique_ptr<StepReference> MakeGatherReference(const LentContext& context,
                                                   std::size_t step);
std::unique_ptr<StepReference> MakeConvertReference(const LentContext& context,
                                                    std::size_t step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_STEP_REFERENCE_H_
