// What a gather must leave, worked out on the device.

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "oracle/device/gather_rules.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {
namespace {

class GatherReference : public StepReference {
 public:
  GatherReference(const LentContext& context, std::size_t step,
                  const oracle::GatherRules& rules)
      : context_(context),
        step_(step),
        dst_(NumberOf(Shape(), TensorId::kDst)),
        count_(static_cast<std::size_t>(Shape().tensors[dst_].shape[0])),
        written_(context.fused.members().size(), 0) {
    call_.rules = rules;
    call_.dst = context.layout.tensor(step, dst_).begin;
    call_.dst_row_bytes = RowBytes(dst_);
    if (Shape().Find(TensorId::kDstScales) != nullptr) {
      const std::size_t scales = NumberOf(Shape(), TensorId::kDstScales);
      call_.scales = context.layout.tensor(step, scales).begin;
      call_.scales_row_bytes = RowBytes(scales);
    }
  }

  std::uint64_t plan_bytes() const override {
    return count_ * sizeof(oracle::GatherSource);
  }
  void PlanAt(std::uint8_t* rows, std::uint64_t offset) override {
    rows_ = reinterpret_cast<oracle::GatherSource*>(rows);
    offset_ = offset;
  }

  bool Plan(std::size_t m) override {
    const CaseImage& member = *context_.fused.members()[m];
    const StepImage& step = member.steps[step_];
    const auto written = oracle::PlanGather(
        context_.contracts[static_cast<std::size_t>(Kernel::kGather)]->gather(),
        call_.rules, member.pool, step, context_.layout.PoolOf(m),
        absl::MakeSpan(rows_ + context_.fused.FirstRow(step_, dst_, m),
                       static_cast<std::size_t>(step.tensors[dst_].shape[0])));
    if (!written.has_value()) return false;
    written_[m] = *written;
    return true;
  }

  absl::Status Begin() override {
    context_.copied_bytes += plan_bytes();
    return context_.memory.Refer(
        kMlafuzzGatherRows,
        {reinterpret_cast<const std::uint8_t*>(&call_), sizeof call_}, offset_,
        count_);
  }

  std::int64_t Written(std::size_t m) const override { return written_[m]; }
  bool OnDevice() const override { return true; }

 private:
  const StepImage& Shape() const { return context_.fused.shape().steps[step_]; }
  std::uint64_t RowBytes(std::size_t t) const {
    const Tensor& tensor = Shape().tensors[t];
    return static_cast<std::uint64_t>(tensor.strides[0]) *
           static_cast<std::uint64_t>(DTypeSize(tensor.dtype));
  }

  const LentContext context_;
  const std::size_t step_;
  const std::size_t dst_;    // number of the tensor
  const std::size_t count_;  // its rows, of all members
  oracle::GatherCall call_ = {};
  oracle::GatherSource* rows_ = nullptr;
  std::uint64_t offset_ = 0;
  std::vector<std::int64_t> written_;  // by member
};

}  // namespace

std::unique_ptr<StepReference> MakeGatherReference(const LentContext& context,
                                                   std::size_t step) {
  const CaseImage& image = context.fused.shape();
  const std::optional<oracle::GatherRules> rules = oracle::GatherRulesOf(
      context.contracts[static_cast<std::size_t>(Kernel::kGather)]->gather(),
      image.pool, image.steps[step]);
  if (!rules.has_value()) return nullptr;
  return std::make_unique<GatherReference>(context, step, *rules);
}

}  // namespace mlafuzz
