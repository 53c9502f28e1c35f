// What a step must leave, worked out by the host.

#include <cstring>
#include <memory>
#include <vector>

#include "properties/fused/for_each.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {
namespace {

class HostReference : public StepReference {
 public:
  HostReference(const LentContext& context, std::size_t step)
      : context_(context), step_(step) {}

  bool Plan(std::size_t m) override { return context_.host.Expect(m, step_); }

  absl::Status Begin() override {
    const FusedCase& fused = context_.fused;
    const StepImage& shape = fused.shape().steps[step_];
    if (shape.kernel == Kernel::kDecode) return absl::OkStatus();
    auto expected = context_.memory.Expected(context_.layout.used());
    if (!expected.ok()) return expected.status();
    const auto at = [&](const LentLayout::Place& place) {
      return *expected + place.begin;
    };
    const LentLayout::Place& pool = context_.layout.pool();
    const bool changes_pool = context_.host.ChangesPool(step_);
    if (changes_pool) {
      const PoolImage& first = fused.members()[0]->pool;
      std::memcpy(at(pool), first.bytes.data(),
                  static_cast<std::size_t>(first.offset));
    }
    std::vector<std::size_t> outputs;
    for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
      if (!shape.tensors[t].output) continue;
      outputs.push_back(t);
      // Gaps between members' rows have what Lay() gives them.
      fused.LayGaps(step_, t, at(context_.layout.tensor(step_, t)));
    }
    ForEach(fused.members().size(), context_.threads, [&](std::size_t m) {
      if (changes_pool) context_.host.LayPages(m, step_, at(pool));
      for (const std::size_t t : outputs) {
        const auto& bytes = context_.host.of(m, step_).outputs[t];
        std::memcpy(*expected + context_.layout.RowsOf(step_, t, m),
                    bytes.data(), bytes.size());
      }
    });
    if (changes_pool) {
      if (absl::Status s = Send(pool); !s.ok()) return s;
    }
    for (const std::size_t t : outputs) {
      absl::Status s = Send(context_.layout.tensor(step_, t));
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }

  std::int64_t Written(std::size_t m) const override {
    return context_.host.of(m, step_).written;
  }
  bool OnDevice() const override { return false; }

 private:
  absl::Status Send(const LentLayout::Place& place) {
    context_.copied_bytes += place.size;
    return context_.memory.Expect(place.begin, place.begin + place.size);
  }

  const LentContext context_;
  const std::size_t step_;
};

}  // namespace

std::unique_ptr<StepReference> MakeHostReference(const LentContext& context,
                                                 std::size_t step) {
  return std::make_unique<HostReference>(context, step);
}

}  // namespace mlafuzz
