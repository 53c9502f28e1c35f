// What a writer must leave, worked out on the device.

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "oracle/device/write_rules.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {
namespace {

class WriteReference : public StepReference {
 public:
  WriteReference(const LentContext& context, std::size_t step,
                 const oracle::WriteRules& rules)
      : context_(context),
        step_(step),
        slots_(NumberOf(Shape(), TensorId::kSlotMapping)),
        tokens_(static_cast<std::size_t>(Shape().tensors[slots_].shape[0])),
        written_(context.fused.members().size(), 0) {
    call_.rules = rules;
    call_.latent = SourceOf(TensorId::kKvC);
    if (Shape().Find(TensorId::kKPe) != nullptr) {
      call_.rope = SourceOf(TensorId::kKPe);
    }
  }

  std::uint64_t plan_bytes() const override {
    return tokens_ * sizeof(oracle::WriteRow);
  }
  void PlanAt(std::uint8_t* rows, std::uint64_t offset) override {
    rows_ = rows;
    offset_ = offset;
  }

  bool Plan(std::size_t m) override {
    const CaseImage& member = *context_.fused.members()[m];
    const StepImage& step = member.steps[step_];
    const auto standing = oracle::StandingRowsOf(
        context_.contracts[static_cast<std::size_t>(Kernel::kWriter)]->writer(),
        member.pool, step);
    if (!standing.has_value()) return false;
    written_[m] = standing->written;
    std::uint8_t* const own =
        rows_ + context_.fused.FirstRow(step_, slots_, m) *
                    static_cast<std::int64_t>(sizeof(oracle::WriteRow));
    // All bits of a place: no row.
    std::memset(own, 0xff,
                static_cast<std::size_t>(step.tensors[slots_].shape[0]) *
                    sizeof(oracle::WriteRow));
    const std::uint64_t pool = context_.layout.PoolOf(m);
    for (const oracle::RowWrite& row : standing->rows) {
      const oracle::WriteRow place = {
          .at = pool + static_cast<std::uint64_t>(row.at),
          .behind = pool + static_cast<std::uint64_t>(row.behind)};
      std::memcpy(
          own + row.token * static_cast<std::int64_t>(sizeof(oracle::WriteRow)),
          &place, sizeof place);
    }
    return true;
  }

  absl::Status Begin() override {
    context_.copied_bytes += plan_bytes();
    return context_.memory.Refer(
        kMlafuzzWriteRows,
        {reinterpret_cast<const std::uint8_t*>(&call_), sizeof call_}, offset_,
        tokens_);
  }

  std::int64_t Written(std::size_t m) const override { return written_[m]; }
  bool OnDevice() const override { return true; }

 private:
  const StepImage& Shape() const { return context_.fused.shape().steps[step_]; }
  oracle::SourceRows SourceOf(TensorId id) const {
    const std::size_t t = NumberOf(Shape(), id);
    return {.begin = context_.layout.tensor(step_, t).begin,
            .row_bytes =
                2 * static_cast<std::uint64_t>(Shape().tensors[t].strides[0])};
  }

  const LentContext context_;
  const std::size_t step_;
  const std::size_t slots_;   // number of the tensor
  const std::size_t tokens_;  // of all members
  oracle::WriteCall call_ = {};
  std::uint8_t* rows_ = nullptr;
  std::uint64_t offset_ = 0;
  std::vector<std::int64_t> written_;  // by member
};

}  // namespace

std::unique_ptr<StepReference> MakeWriteReference(const LentContext& context,
                                                  std::size_t step) {
  const CaseImage& image = context.fused.shape();
  const std::optional<oracle::WriteRules> rules = oracle::WriteRulesOf(
      context.contracts[static_cast<std::size_t>(Kernel::kWriter)]->writer(),
      image.pool, image.steps[step]);
  if (!rules.has_value()) return nullptr;
  return std::make_unique<WriteReference>(context, step, *rules);
}

}  // namespace mlafuzz
