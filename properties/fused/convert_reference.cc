// What an index conversion must leave, worked out on the device.

#include <memory>
#include <optional>
#include <vector>

#include "oracle/device/convert_rules.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {
namespace {

class ConvertReference : public StepReference {
 public:
  ConvertReference(const LentContext& context, std::size_t step,
                   const oracle::ConvertRules& rules)
      : context_(context),
        step_(step),
        writes_(context.fused.members().size(), 0) {
    const Tensor& indices = *Shape().Find(TensorId::kTokenIndices);
    rows_ = static_cast<std::size_t>(indices.shape[0]);
    call_ = {.rules = rules,
             .width = indices.shape[1],
             .indices = Elements(TensorId::kTokenIndices),
             .requests = Elements(TensorId::kRequestIds),
             .table = Elements(TensorId::kBlockTable),
             .out = Elements(TensorId::kOut),
             .counts = Elements(TensorId::kValidCount)};
  }

  // Rows do not depend on whose they are.
  bool Plan(std::size_t m) override {
    const CaseImage& member = *context_.fused.members()[m];
    writes_[m] =
        oracle::ConvertWrites(
            context_.contracts[static_cast<std::size_t>(Kernel::kConvert)]
                ->convert(),
            member.pool, member.steps[step_])
            ? 1
            : 0;
    return true;
  }

  absl::Status Begin() override {
    return context_.memory.Refer(
        kMlafuzzConvertRows,
        {reinterpret_cast<const std::uint8_t*>(&call_), sizeof call_}, 0,
        rows_);
  }

  std::int64_t Written(std::size_t m) const override { return writes_[m]; }
  bool OnDevice() const override { return true; }

 private:
  const StepImage& Shape() const { return context_.fused.shape().steps[step_]; }
  // None of a tensor that the call does not have.
  oracle::Int32s Elements(TensorId id) const {
    const Tensor* const tensor = Shape().Find(id);
    if (tensor == nullptr) return {.begin = 0, .count = 0, .step = 0};
    const LentLayout::Place& place = context_.layout.tensor(
        step_, static_cast<std::size_t>(tensor - Shape().tensors.data()));
    return {.begin = place.begin,
            .count = static_cast<std::int64_t>(place.size / 4),
            .step = tensor->strides[0]};
  }

  const LentContext context_;
  const std::size_t step_;
  std::size_t rows_ = 0;  // of all members
  oracle::ConvertCall call_ = {};
  std::vector<std::int64_t> writes_;  // by member
};

}  // namespace

std::unique_ptr<StepReference> MakeConvertReference(const LentContext& context,
                                                    std::size_t step) {
  const CaseImage& image = context.fused.shape();
  const std::optional<oracle::ConvertRules> rules = oracle::ConvertRulesOf(
      context.contracts[static_cast<std::size_t>(Kernel::kConvert)]->convert(),
      image.pool, image.steps[step]);
  if (!rules.has_value()) return nullptr;
  return std::make_unique<ConvertReference>(context, step, *rules);
}

}  // namespace mlafuzz
