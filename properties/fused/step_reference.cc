#include "properties/fused/step_reference.h"

#include <utility>

namespace mlafuzz {
namespace {

// Null: by the host alone.
std::unique_ptr<StepReference> MakeDeviceReference(const LentContext& context,
                                                   std::size_t step) {
  switch (context.fused.shape().steps[step].kernel) {
    case Kernel::kWriter:
      return MakeWriteReference(context, step);
    case Kernel::kGather:
      return MakeGatherReference(context, step);
    case Kernel::kConvert:
      return MakeConvertReference(context, step);
    case Kernel::kDecode:
      break;
  }
  return nullptr;
}

}  // namespace

std::vector<std::unique_ptr<StepReference>> MakeReferences(
    const LentContext& context) {
  const std::size_t steps = context.fused.shape().steps.size();
  std::vector<std::unique_ptr<StepReference>> references;
  for (std::size_t step = 0; step < steps; ++step) {
    references.push_back(MakeDeviceReference(context, step));
    if (references.back() == nullptr) break;
  }
  if (references.empty() || references.back() != nullptr) return references;
  references.clear();
  for (std::size_t step = 0; step < steps; ++step) {
    references.push_back(MakeHostReference(context, step));
  }
  return references;
}

}  // namespace mlafuzz
