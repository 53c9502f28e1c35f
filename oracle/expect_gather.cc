#include <algorithm>
#include <array>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/expect_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/upconvert.h"

namespace mlafuzz::oracle {
namespace {

int TensorIndex(const StepImage& step, TensorId id) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void ExpectGather(const GatherContract& contract, const PoolImage& pool,
                  const StepImage& step,
                  absl::Span<const std::uint8_t> pool_before,
                  Expectation* result) {
  const int dst_index = TensorIndex(step, TensorId::kDst);
  if (dst_index < 0) return;
  const Tensor& dst = step.tensors[dst_index];
  std::vector<std::uint8_t>& out = result->outputs[dst_index];
  out = dst.bytes;
  // Of a dense bf16 row alone is a rule known.
  if (DTypeSize(dst.dtype) != 2 || dst.shape[1] != kDenseColumns) return;

  const RowLayout& layout = LayoutOf(pool.layout);
  for (const GatherRequest& r : SplitRequests(contract, pool, step)) {
    const std::int64_t inside =
        std::min(r.first_row + r.done_rows, dst.shape[0]) -
        std::max<std::int64_t>(r.first_row, 0);
    result->outside_writes += r.done_rows - std::max<std::int64_t>(inside, 0);
  }
  const bool nope = step.step != nullptr && step.step->gather().nope();
  const bool zeroes_tail =
      nope && contract.nope_tail() == GatherContract::NOPE_TAIL_ZERO;
  const bool keeps_tail =
      nope && contract.nope_tail() == GatherContract::NOPE_TAIL_UNTOUCHED;
  const bool first_tile = contract.scale() == GatherContract::SCALE_FIRST_TILE;
  const Upconverter convert(contract);
  const std::int64_t pool_bytes = static_cast<std::int64_t>(pool_before.size());

  ForEachGatherRow(contract, pool, step, [&](const GatherRow& row) {
    const std::int64_t to = row.row * dst.strides[0] * 2;
    if (to < 0 ||
        to + 2 * kDenseColumns > static_cast<std::int64_t>(out.size())) {
      return;
    }
    const std::int64_t from =
        row.source == GatherRow::Source::kSlot ? pool.RowAt(row.slot) : -1;
    if (from < 0 || from + layout.row_bytes > pool_bytes) {
      if (row.source != GatherRow::Source::kSkipped) {
        result->unsettled.push_back(
            {.tensor = dst_index, .begin = to, .end = to + 2 * kDenseColumns});
      }
      return;
    }
    const std::uint8_t* in = pool_before.data() + from;
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const float scale = convert.ReadScale(LoadBytes<std::uint32_t>(
          in + layout.scales_at +
          (first_tile ? 0 : tile) * layout.scale_bytes));
      const std::uint8_t* codes = in + layout.codes_at + tile * layout.tile;
      std::uint8_t* values = out.data() + to + 2 * tile * layout.tile;
      for (int i = 0; i < layout.tile; ++i) {
        StoreBytes(convert.Value(codes[i], scale), values + 2 * i);
      }
    }
    result->written += 2 * kLatentColumns;
    std::uint8_t* tail = out.data() + to + 2 * kLatentColumns;
    if (keeps_tail) return;
    if (zeroes_tail) {
      std::memset(tail, 0, 2 * layout.rope);
    } else {
      std::memcpy(tail, in + layout.rope_at, 2 * layout.rope);
    }
    result->written += 2 * layout.rope;
  });
}

}  // namespace mlafuzz::oracle
