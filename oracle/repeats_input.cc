#include "oracle/repeats_input.h"

#include <cstddef>
#include <cstring>

#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

class Repeats {
 public:
  explicit Repeats(const ComparedStep& compared)
      : contract_(compared.contract),
        image_(compared.image),
        step_(compared.step),
        layout_(compared.layout),
        before_(compared.before),
        wanted_pool_(compared.wanted_pool()),
        expected_(compared.expected),
        after_(compared.after) {}

  std::int64_t Run(bool wrong) const {
    switch (step_.kernel) {
      case Kernel::kWriter:
        return SlotsThatRepeatInput(wrong);
      case Kernel::kGather:
        return DstRowsThatRepeatInput(wrong);
      case Kernel::kConvert:
        return IndexRowsThatRepeatInput(wrong);
      case Kernel::kDecode:
        break;
    }
    return 0;
  }

 private:
  // kv_c's first bytes stand where the codes should.
  std::int64_t SlotsThatRepeatInput(bool wrong) const {
    const Tensor& kv_c = *step_.Find(TensorId::kKvC);
    const std::size_t size = static_cast<std::size_t>(layout_.codes);
    std::int64_t rows = 0;
    for (const RowWrite& row :
         PlanWrites(contract_.writer(), image_.pool, step_).rows) {
      const std::size_t at = static_cast<std::size_t>(
          row.token * kv_c.strides[0] * DTypeSize(kv_c.dtype));
      if (at + size > kv_c.bytes.size()) continue;
      const std::uint8_t* got = after_.pool.data() + row.at;
      if ((!wrong ||
           std::memcmp(got, wanted_pool_.data() + row.at, size) != 0) &&
          std::memcmp(got, kv_c.bytes.data() + at, size) == 0) {
        ++rows;
      }
    }
    return rows;
  }

  // The cache row's raw bytes stand in dst.
  std::int64_t DstRowsThatRepeatInput(bool wrong) const {
    // That is what it is to do.
    if (layout_.copied ||
        contract_.gather().rows() == GatherContract::ROWS_BYTES) {
      return 0;
    }
    const int index = IndexOf(TensorId::kDst);
    const Tensor& dst = step_.tensors[static_cast<std::size_t>(index)];
    const std::size_t size = static_cast<std::size_t>(layout_.codes);
    std::int64_t rows = 0;
    ForEachGatherRow(
        contract_.gather(), image_.pool, step_, [&](const GatherRow& row) {
          if (row.source != GatherRow::Source::kSlot) return;
          const std::size_t to =
              static_cast<std::size_t>(2 * row.row * dst.strides[0]);
          const std::uint8_t* got = after_.outputs[index].data() + to;
          const std::uint8_t* raw =
              before_.data() + image_.pool.RowAt(row.slot);
          if ((!wrong || std::memcmp(got, expected_.outputs[index].data() + to,
                                     size) != 0) &&
              std::memcmp(got, raw, size) == 0) {
            ++rows;
          }
        });
    return rows;
  }

  std::int64_t IndexRowsThatRepeatInput(bool wrong) const {
    const int index = IndexOf(TensorId::kOut);
    const Tensor& out = step_.tensors[static_cast<std::size_t>(index)];
    const Tensor& tokens = *step_.Find(TensorId::kTokenIndices);
    const std::size_t size = static_cast<std::size_t>(4 * out.shape[1]);
    std::int64_t rows = 0;
    for (std::int64_t row = 0; row < out.shape[0]; ++row) {
      const std::int64_t to = 4 * row * out.strides[0];
      const std::int64_t from = 4 * row * tokens.strides[0];
      const std::uint8_t* got = after_.outputs[index].data() + to;
      if ((!wrong ||
           std::memcmp(got, expected_.outputs[index].data() + to, size) != 0) &&
          std::memcmp(got, tokens.bytes.data() + from, size) == 0) {
        ++rows;
      }
    }
    return rows;
  }

  int IndexOf(TensorId id) const {
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (step_.tensors[i].id == id) return static_cast<int>(i);
    }
    return -1;
  }

  const Contract& contract_;
  const CaseImage& image_;
  const StepImage& step_;
  const RowLayout& layout_;
  const absl::Span<const std::uint8_t> before_;
  const absl::Span<const std::uint8_t> wanted_pool_;
  const Expectation& expected_;
  const AfterImage& after_;
};

}  // namespace

std::int64_t RowsThatRepeatInput(const ComparedStep& compared, bool wrong) {
  return Repeats(compared).Run(wrong);
}

}  // namespace mlafuzz::oracle
