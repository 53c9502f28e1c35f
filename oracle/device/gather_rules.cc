#include "oracle/device/gather_rules.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/token_place.h"
#include "oracle/upconvert.h"

namespace mlafuzz::oracle {
namespace {

using Rows = GatherRules::Rows;
using Tail = GatherRules::Tail;

Rows RowsOf(const GatherContract& contract, const RowLayout& layout) {
  if (layout.copied) return Rows::kCopies;
  switch (contract.rows()) {
    case GatherContract::ROWS_BYTES:
      return Rows::kBytes;
    case GatherContract::ROWS_ONE_SCALE:
      return Rows::kOneScale;
    default:
      return Rows::kValues;
  }
}

Tail TailOf(const GatherContract& contract, const PoolImage& pool,
            const StepImage& step) {
  if (pool.layout != FP8_DS_MLA || step.step == nullptr ||
      !step.step->gather().nope()) {
    return Tail::kVerbatim;
  }
  switch (contract.nope_tail()) {
    case GatherContract::NOPE_TAIL_ZERO:
      return Tail::kZero;
    case GatherContract::NOPE_TAIL_UNTOUCHED:
      return Tail::kUntouched;
    default:
      return Tail::kVerbatim;
  }
}

bool AtPitch(const GatherContract& contract) {
  return contract.byte_rows() == GatherContract::BYTES_AT_PITCH;
}

// Bytes that the rules need of dst, and of scales, for a row.
std::int64_t RowBytes(const GatherRules& rules) {
  switch (rules.rows) {
    case Rows::kValues:
      return 2 * (rules.codes + rules.tail_values);
    case Rows::kOneScale:
      return 2 * rules.codes;
    default:
      return rules.codes;
  }
}

// Finds a token among the bytes of a pool. False: it is not all there.
class Finder {
 public:
  Finder(const GatherContract& contract, const GatherRules& rules,
         const PoolImage& pool)
      : rules_(rules),
        pool_(pool),
        layout_(LayoutOf(pool.layout)),
        size_(static_cast<std::int64_t>(pool.bytes.size())),
        at_pitch_(AtPitch(contract)),
        from_boundary_(contract.code_loads() ==
                       GatherContract::LOADS_FROM_BOUNDARY) {}

  bool Find(std::int64_t slot, std::int64_t* at, std::int64_t* behind) const {
    const TokenPlace place = PlaceOf(pool_, slot);
    *at = place.row;
    *behind = place.behind;
    switch (rules_.rows) {
      case Rows::kValues:
        return Fits(layout_, place, size_);
      case Rows::kCopies:
        *behind = place.ByteAt(layout_, layout_.scales_at);
        if (from_boundary_) *at = place.row / 16 * 16;
        return Fits(layout_, place, size_);
      case Rows::kBytes:
      case Rows::kOneScale:
        break;
    }
    const std::int64_t pitch = pool_.offset +
                               slot / pool_.page_size * pool_.page_stride +
                               slot % pool_.page_size * pool_.token_stride();
    if (rules_.rows == Rows::kOneScale || at_pitch_) {
      *at = pitch;
      *behind = pitch;
    }
    return pitch >= 0 && pitch + pool_.row_bytes <= size_;
  }

 private:
  const GatherRules& rules_;
  const PoolImage& pool_;
  const RowLayout& layout_;
  const std::int64_t size_;
  const bool at_pitch_;
  const bool from_boundary_;
};

}  // namespace

std::optional<GatherRules> GatherRulesOf(const GatherContract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const Tensor* const dst = step.Find(TensorId::kDst);
  if (dst == nullptr || step.Find(TensorId::kBlockTable) == nullptr) {
    return std::nullopt;
  }
  const DstShape shape = DstShapeOf(contract, layout);
  const Rows rows = RowsOf(contract, layout);
  if (DTypeSize(dst->dtype) != shape.element ||
      dst->shape[1] != shape.columns ||
      (rows != Rows::kValues && rows != Rows::kCopies &&
       pool.row_bytes != RowBytesOf(contract, layout))) {
    return std::nullopt;
  }
  GatherRules rules = {
      .rows = rows,
      .tail = TailOf(contract, pool, step),
      .reading = E4m3ReadingOf(contract),
      .scale = ScaleReadingOf(contract),
      .product = ProductRoundingOf(contract),
      .first_tile = contract.scale() == GatherContract::SCALE_FIRST_TILE,
      .ue8m0 = layout.scale_kind == RowLayout::Scales::kUe8m0,
      .zero_is_zero = contract.ue8m0_zero() == ZERO_IS_ZERO,
      .last_is_inf = contract.ue8m0_last() == LAST_IS_INF,
      .one_scale = 0,
      .row_part = layout.row_part,
      .codes_at = layout.codes_at,
      .codes = static_cast<std::int32_t>(shape.codes),
      .tile = layout.tile,
      .scales_at = layout.scales_at,
      .scale_bytes = layout.scale_bytes,
      .all_scales = layout.tiles() * layout.scale_bytes,
      .tail_at = layout.rope_at,
      .tail_values = rows == Rows::kValues ? layout.rope : 0,
  };
  if (rows == Rows::kOneScale || (rows == Rows::kBytes && AtPitch(contract))) {
    rules.row_part = rules.codes;  // one run
  }
  if (rows == Rows::kOneScale) {
    rules.one_scale =
        std::bit_cast<float>(step.step->gather().tensor_scale_bits());
  }
  if (rows == Rows::kCopies) {
    const Tensor* const scales = step.Find(TensorId::kDstScales);
    if (scales == nullptr ||
        contract.scale_rows() == GatherContract::SCALE_ROWS_BY_CODE_STRIDE ||
        scales->strides[0] * DTypeSize(scales->dtype) != rules.all_scales) {
      return std::nullopt;
    }
  }
  return rules;
}

std::optional<std::int64_t> PlanGather(const GatherContract& contract,
                                       const GatherRules& rules,
                                       const PoolImage& pool,
                                       const StepImage& step,
                                       std::uint64_t pool_at,
                                       absl::Span<GatherSource> rows) {
  std::fill(rows.begin(), rows.end(),
            GatherSource{GatherSource::kNone, GatherSource::kNone});
  const Tensor& dst = *step.Find(TensorId::kDst);
  const Tensor* const scales = step.Find(TensorId::kDstScales);
  const std::int64_t row_bytes = dst.strides[0] * DTypeSize(dst.dtype);
  const std::int64_t needed = RowBytes(rules);
  const auto size = static_cast<std::int64_t>(dst.bytes.size());
  const auto scales_size =
      scales == nullptr ? 0 : static_cast<std::int64_t>(scales->bytes.size());
  const Finder finder(contract, rules, pool);
  std::int64_t visited = 0;
  bool open = false;
  const std::vector<GatherRequest> requests =
      SplitRequests(contract, pool, step);
  for (const GatherRequest& r : requests) {
    // Rows past dst are somebody else's memory.
    open |= r.done_rows > 0 &&
            (r.first_row < 0 || r.first_row + r.done_rows > dst.shape[0]);
  }
  ForEachGatherRow(contract, pool, step, requests, [&](const GatherRow& row) {
    const std::int64_t to = row.row * row_bytes;
    if (to < 0 || to + needed > size ||
        row.source == GatherRow::Source::kSkipped) {
      return;
    }
    GatherSource& source = rows[static_cast<std::size_t>(row.row)];
    std::int64_t at = -1;
    std::int64_t behind = -1;
    if (row.source != GatherRow::Source::kSlot ||
        !finder.Find(row.slot, &at, &behind) ||
        (rules.rows == Rows::kCopies &&
         (row.row + 1) * rules.all_scales > scales_size)) {
      open = true;
      return;
    }
    const GatherSource found = {pool_at + static_cast<std::uint64_t>(at),
                                pool_at + static_cast<std::uint64_t>(behind)};
    // Of two requests for one row, whichever comes last.
    open |= source.at != GatherSource::kNone && source.at != found.at;
    source = found;
    ++visited;
  });
  if (open) return std::nullopt;
  std::int64_t bytes = needed;
  if (rules.rows == Rows::kCopies) bytes += rules.all_scales;
  if (rules.tail == Tail::kUntouched) bytes -= 2 * rules.tail_values;
  return visited * bytes;
}

}  // namespace mlafuzz::oracle
