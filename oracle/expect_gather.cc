#include <algorithm>
#include <bit>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/expect_parts.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/layouts/ue8m0.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"
#include "oracle/upconvert.h"

namespace mlafuzz::oracle {
namespace {

int TensorIndex(const StepImage& step, TensorId id) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

Ue8m0Reading ReadingOf(const GatherContract& contract) {
  Ue8m0Reading reading;
  if (contract.ue8m0_zero() == ZERO_IS_ZERO) {
    reading.zero = Ue8m0Reading::Zero::kZero;
  }
  if (contract.ue8m0_last() == LAST_IS_INF) {
    reading.last = Ue8m0Reading::Last::kInf;
  }
  return reading;
}

// Bits of a tile's scale as they are stored, or as fp32 would hold them.
std::uint32_t StoredScale(const RowLayout& layout, Ue8m0Reading reading,
                          const std::uint8_t* at) {
  return layout.scale_kind == RowLayout::Scales::kUe8m0
             ? std::bit_cast<std::uint32_t>(Ue8m0Value(*at, reading))
             : LoadBytes<std::uint32_t>(at);
}

// Rows that the requests own outside of dst.
std::int64_t RowsOutside(const GatherContract& contract, const PoolImage& pool,
                         const StepImage& step, std::int64_t dst_rows) {
  std::int64_t outside = 0;
  for (const GatherRequest& r : SplitRequests(contract, pool, step)) {
    const std::int64_t inside = std::min(r.first_row + r.done_rows, dst_rows) -
                                std::max<std::int64_t>(r.first_row, 0);
    outside += r.done_rows - std::max<std::int64_t>(inside, 0);
  }
  return outside;
}

// Byte of the pool at which a gather that copies bytes reads byte 0 of a row.
std::int64_t AtPitch(const PoolImage& pool, std::int64_t slot) {
  return pool.offset + slot / pool.page_size * pool.page_stride +
         slot % pool.page_size * pool.token_stride();
}

// A gather of rows that are bytes, or codes under one scale.
void ExpectOtherRows(const GatherContract& contract, const PoolImage& pool,
                     const StepImage& step,
                     absl::Span<const std::uint8_t> pool_before,
                     Expectation* result) {
  const int dst_index = TensorIndex(step, TensorId::kDst);
  if (dst_index < 0) return;
  const RowLayout& layout = LayoutOf(pool.layout);
  const Tensor& dst = step.tensors[dst_index];
  std::vector<std::uint8_t>& out = result->outputs[dst_index];
  out = dst.bytes;
  const DstShape shape = DstShapeOf(contract, layout);
  if (DTypeSize(dst.dtype) != shape.element || dst.shape[1] != shape.columns ||
      pool.row_bytes != RowBytesOf(contract, layout)) {
    return;
  }
  result->outside_writes += RowsOutside(contract, pool, step, dst.shape[0]);
  const std::int64_t pool_bytes = static_cast<std::int64_t>(pool_before.size());
  const bool bytes = contract.rows() == GatherContract::ROWS_BYTES;
  const bool at_pitch =
      bytes && contract.byte_rows() == GatherContract::BYTES_AT_PITCH;
  const Upconverter convert(contract);
  const float scale =
      std::bit_cast<float>(step.step->gather().tensor_scale_bits());
  ForEachGatherRow(contract, pool, step, [&](const GatherRow& row) {
    const std::int64_t to = row.row * dst.strides[0] * shape.element;
    const std::int64_t size = shape.columns * shape.element;
    if (to < 0 || to + size > static_cast<std::int64_t>(out.size())) return;
    const bool known = row.source == GatherRow::Source::kSlot;
    const std::int64_t from = known ? AtPitch(pool, row.slot) : -1;
    if (from < 0 || from + pool.row_bytes > pool_bytes) {
      if (row.source != GatherRow::Source::kSkipped) {
        result->unsettled.push_back(
            {.tensor = dst_index, .begin = to, .end = to + size});
      }
      return;
    }
    std::uint8_t* values = out.data() + to;
    if (!bytes) {
      for (std::int64_t i = 0; i < shape.columns; ++i) {
        StoreBytes(convert.Value(
                       pool_before[static_cast<std::size_t>(from + i)], scale),
                   values + 2 * i);
      }
    } else if (at_pitch) {
      std::copy_n(pool_before.begin() + from, size, values);
    } else {
      LoadToken(layout, PlaceOf(pool, row.slot), pool_before.data(), values);
    }
    result->written += size;
  });
}

// A gather that copies: codes [rows, codes] uint8, scales [rows, tiles] fp32.
void ExpectCopies(const GatherContract& contract, const PoolImage& pool,
                  const StepImage& step,
                  absl::Span<const std::uint8_t> pool_before,
                  Expectation* result) {
  const int codes_index = TensorIndex(step, TensorId::kDst);
  const int scales_index = TensorIndex(step, TensorId::kDstScales);
  if (codes_index < 0 || scales_index < 0) return;
  const RowLayout& layout = LayoutOf(pool.layout);
  const Tensor& dst = step.tensors[codes_index];
  std::vector<std::uint8_t>& codes = result->outputs[codes_index];
  std::vector<std::uint8_t>& scales = result->outputs[scales_index];
  codes = dst.bytes;
  scales = step.tensors[scales_index].bytes;
  if (DTypeSize(dst.dtype) != 1 || dst.shape[1] != layout.codes) return;
  result->outside_writes += RowsOutside(contract, pool, step, dst.shape[0]);
  const std::int64_t scale_bytes = layout.tiles() * layout.scale_bytes;
  const bool from_boundary =
      contract.code_loads() == GatherContract::LOADS_FROM_BOUNDARY;
  ForEachGatherRow(contract, pool, step, [&](const GatherRow& row) {
    const std::int64_t to = row.row * dst.strides[0];
    const std::int64_t scale_to = ScaleRowAt(contract, layout, dst, row.row);
    if (to < 0 || to + layout.codes > static_cast<std::int64_t>(codes.size())) {
      return;
    }
    const bool scale_fits =
        scale_to + scale_bytes <= static_cast<std::int64_t>(scales.size());
    if (!scale_fits) ++result->outside_writes;
    const bool known = row.source == GatherRow::Source::kSlot &&
                       Fits(layout, PlaceOf(pool, row.slot),
                            static_cast<std::int64_t>(pool_before.size()));
    if (!known) {
      if (row.source == GatherRow::Source::kSkipped) return;
      result->unsettled.push_back(
          {.tensor = codes_index, .begin = to, .end = to + layout.codes});
      if (scale_fits) {
        result->unsettled.push_back({.tensor = scales_index,
                                     .begin = scale_to,
                                     .end = scale_to + scale_bytes});
      }
      return;
    }
    const TokenPlace place = PlaceOf(pool, row.slot);
    const std::int64_t from = from_boundary ? place.row / 16 * 16 : place.row;
    std::copy_n(pool_before.begin() + from, layout.codes, codes.begin() + to);
    if (scale_fits) {
      std::copy_n(pool_before.begin() + place.ByteAt(layout, layout.scales_at),
                  scale_bytes, scales.begin() + scale_to);
    }
    result->written += layout.codes + scale_bytes;
  });
}

}  // namespace

std::int64_t ScaleRowAt(const GatherContract& contract, const RowLayout& layout,
                        const Tensor& dst, std::int64_t row) {
  return contract.scale_rows() == GatherContract::SCALE_ROWS_BY_CODE_STRIDE
             ? row * dst.strides[0] / layout.tile * layout.scale_bytes
             : row * layout.tiles() * layout.scale_bytes;
}

void ExpectGather(const GatherContract& contract, const PoolImage& pool,
                  const StepImage& step,
                  absl::Span<const std::uint8_t> pool_before,
                  Expectation* result) {
  const RowLayout& layout = LayoutOf(pool.layout);
  if (layout.copied) {
    ExpectCopies(contract, pool, step, pool_before, result);
    return;
  }
  if (contract.rows() == GatherContract::ROWS_BYTES ||
      contract.rows() == GatherContract::ROWS_ONE_SCALE) {
    ExpectOtherRows(contract, pool, step, pool_before, result);
    return;
  }
  const int dst_index = TensorIndex(step, TensorId::kDst);
  if (dst_index < 0) return;
  const Tensor& dst = step.tensors[dst_index];
  std::vector<std::uint8_t>& out = result->outputs[dst_index];
  out = dst.bytes;
  // Of a dense bf16 row alone is a rule known.
  if (DTypeSize(dst.dtype) != 2 || dst.shape[1] != layout.columns()) return;
  result->outside_writes += RowsOutside(contract, pool, step, dst.shape[0]);

  const bool nope = pool.layout == FP8_DS_MLA && step.step != nullptr &&
                    step.step->gather().nope();
  const bool zeroes_tail =
      nope && contract.nope_tail() == GatherContract::NOPE_TAIL_ZERO;
  const bool keeps_tail =
      nope && contract.nope_tail() == GatherContract::NOPE_TAIL_UNTOUCHED;
  const bool first_tile = contract.scale() == GatherContract::SCALE_FIRST_TILE;
  const Upconverter convert(contract);
  const Ue8m0Reading reading = ReadingOf(contract);
  const std::int64_t columns = layout.columns();
  TokenBytes token;
  const std::int64_t pool_bytes = static_cast<std::int64_t>(pool_before.size());

  ForEachGatherRow(contract, pool, step, [&](const GatherRow& row) {
    const std::int64_t to = row.row * dst.strides[0] * 2;
    if (to < 0 || to + 2 * columns > static_cast<std::int64_t>(out.size())) {
      return;
    }
    const TokenPlace place = row.source == GatherRow::Source::kSlot
                                 ? PlaceOf(pool, row.slot)
                                 : TokenPlace{-1, -1};
    if (!Fits(layout, place, pool_bytes)) {
      if (row.source != GatherRow::Source::kSkipped) {
        result->unsettled.push_back(
            {.tensor = dst_index, .begin = to, .end = to + 2 * columns});
      }
      return;
    }
    const std::uint8_t* in = pool_before.data() + place.row;
    if (pool.split()) {
      LoadToken(layout, place, pool_before.data(), token.data());
      in = token.data();
    }
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const float scale = convert.ReadScale(
          StoredScale(layout, reading,
                      in + layout.scales_at +
                          (first_tile ? 0 : tile) * layout.scale_bytes));
      const std::uint8_t* codes = in + layout.codes_at + tile * layout.tile;
      std::uint8_t* values = out.data() + to + 2 * tile * layout.tile;
      for (int i = 0; i < layout.tile; ++i) {
        StoreBytes(convert.Value(codes[i], scale), values + 2 * i);
      }
    }
    result->written += 2 * layout.codes;
    std::uint8_t* tail = out.data() + to + 2 * layout.codes;
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
