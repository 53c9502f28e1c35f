#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "corpus/values.h"
#include "properties/repair.h"
#include "properties/repair_parts.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kLatent = 512;
constexpr std::uint32_t kMaxHeads = 128;
constexpr std::uint32_t kMaxSplits = 64;
// 16 bytes, the widest load, in 16-bit elements.
constexpr std::uint32_t kAlign = 8;
// Lists whose length a host must refuse are this much off at most.
constexpr std::uint32_t kMaxSurplus = 4;

// Lanes of `query` that count.
std::int64_t ActiveLanes(const Decode& decode, std::uint32_t query) {
  const std::int64_t width = decode.indices().width();
  if (static_cast<int>(query) >= decode.lengths_size()) return width;
  return std::clamp<std::int64_t>(decode.lengths(static_cast<int>(query)), 0,
                                  width);
}

// Lets every lane that counts name a slot, or none.
void RepairLanes(Decode& decode, std::int64_t slots) {
  Indices& indices = *decode.mutable_indices();
  indices.set_limit(std::min<std::uint32_t>(indices.limit(),
                                            static_cast<std::uint32_t>(slots)));
  const std::uint32_t rows = std::min(indices.rows(), decode.queries());
  const std::uint32_t width = indices.width();
  const auto counts = [&](std::uint64_t at) {
    const std::uint32_t row = static_cast<std::uint32_t>(at / width);
    return row < rows &&
           static_cast<std::int64_t>(at % width) < ActiveLanes(decode, row);
  };
  for (SetIndex& set : *indices.mutable_set()) {
    if (set.value() >= slots && counts(set.at())) {
      set.set_value(static_cast<std::int32_t>(set.value() % slots));
    }
  }
  if (indices.pad() == Indices::MINUS_ONE ||
      indices.pad() == Indices::OTHER_NEGATIVE) {
    return;
  }
  const std::vector<std::int32_t> all = ExpandIndices(indices);
  for (std::uint64_t at = 0; at < all.size(); ++at) {
    if (all[at] >= slots && counts(at)) {
      indices.set_pad(Indices::OTHER_NEGATIVE);
      return;
    }
  }
}

// Heads within their query, 16 bytes between rows where it is not dense.
void RepairHeadStrides(Decode& d) {
  const auto repair = [&](std::uint32_t columns, std::uint32_t* head,
                          std::uint32_t* query) {
    *head = RepairStride(*head, columns, kAlign, false);
    const std::uint32_t apart = *head != 0 ? *head : columns;
    *query = RepairStride(*query, d.heads() * apart, kAlign, false);
  };
  std::uint32_t head = d.q_head_stride(), query = d.q_query_stride();
  repair(kLatent + d.pe_dim(), &head, &query);
  d.set_q_head_stride(head);
  d.set_q_query_stride(query);
  head = d.out_head_stride();
  query = d.out_query_stride();
  repair(kLatent, &head, &query);
  d.set_out_head_stride(head);
  d.set_out_query_stride(query);
  d.set_lse_query_stride(
      RepairStride(d.lse_query_stride(), d.heads(), 1, false));
}

}  // namespace

void AlignForDecode(Pool& pool) {
  constexpr std::uint32_t kRow = 16;
  pool.set_offset(pool.offset() / kRow * kRow);
  pool.set_row_stride((pool.row_stride() + kRow - 1) / kRow * kRow);
  if (pool.page_stride() == 0) return;
  pool.set_page_stride((pool.page_stride() + kRow - 1) / kRow * kRow);
  const std::uint64_t row = pool.row_stride() != 0 ? pool.row_stride() : 656;
  if (pool.page_stride() < row * pool.page_size()) pool.clear_page_stride();
}

void RepairDecode(Decode& decode, const Pool& pool,
                  const GeneratorOptions& options) {
  const CaseLimits limits = LimitsOf(options);
  if (decode.queries() > limits.decode_queries) {
    decode.set_queries(limits.decode_queries);
  }
  const std::uint32_t most_heads = kMaxHeads + (options.invalid ? 1 : 0);
  decode.set_heads(
      std::clamp(decode.heads(), options.invalid ? 0u : 1u, most_heads));
  if (decode.pe_dim() != 0 && decode.pe_dim() != 64 &&
      (!options.invalid || decode.pe_dim() > 256)) {
    decode.set_pe_dim(64);
  }
  Indices& indices = *decode.mutable_indices();
  indices.set_width(std::min(indices.width(), limits.decode_width));
  const bool wide = indices.width() > limits.decode_dense_width;
  if (wide) {
    decode.set_queries(std::min(decode.queries(), 1u));
    if (decode.heads() <= kMaxHeads) {
      decode.set_heads(std::min(decode.heads(), 1u));
    }
    indices.set_valid(std::min(indices.valid(), limits.decode_wide_keys));
  }
  // A call costs queries * heads * width; 129 heads are refused.
  const auto cells = [&] {
    return std::uint64_t{decode.queries()} * decode.heads() * indices.width();
  };
  if (wide) {
    // Bounded by its keys.
  } else if (decode.heads() <= kMaxHeads) {
    if (cells() > limits.decode_cells) {
      decode.set_queries(std::max<std::uint32_t>(
          1, static_cast<std::uint32_t>(limits.decode_cells /
                                        (decode.heads() * indices.width()))));
    }
    if (cells() > limits.decode_cells) {
      decode.set_heads(std::max<std::uint32_t>(
          1, static_cast<std::uint32_t>(limits.decode_cells /
                                        (decode.queries() * indices.width()))));
    }
  } else {
    decode.set_queries(std::min(decode.queries(), 1u));
  }
  const auto list_size = [&](std::uint32_t got, std::uint32_t want) {
    if (!options.invalid) return want;
    return std::min(got, want + kMaxSurplus);
  };
  indices.set_rows(list_size(indices.rows(), decode.queries()));
  indices.set_row_stride(
      RepairStride(indices.row_stride(), indices.width(), 1, false));
  if (!Indices::Place_IsValid(indices.place())) indices.clear_place();
  if (!Indices::Pad_IsValid(indices.pad())) indices.clear_pad();
  KeepSets(indices);
  if (decode.lengths_size() > 0) {
    decode.mutable_lengths()->Resize(
        static_cast<int>(
            list_size(static_cast<std::uint32_t>(decode.lengths_size()),
                      decode.queries())),
        0);
  }
  if (decode.sink_bits_size() > 0) {
    decode.mutable_sink_bits()->Resize(
        static_cast<int>(
            list_size(static_cast<std::uint32_t>(decode.sink_bits_size()),
                      decode.heads())),
        0);
  }
  for (std::int32_t& length : *decode.mutable_lengths()) {
    length = std::max(length, -1);
  }
  RepairLanes(decode, std::int64_t{pool.page_size()} * pool.pages());
  const float scale = std::bit_cast<float>(decode.softmax_scale_bits());
  if (!(scale >= std::numeric_limits<float>::min()) || !std::isfinite(scale)) {
    decode.set_softmax_scale_bits(std::bit_cast<std::uint32_t>(1 / 24.0f));
  }
  if (decode.splits() > kMaxSplits) decode.set_splits(kMaxSplits);
  if (decode.declared_topk() > 1u << 20) decode.set_declared_topk(1u << 20);
  if (decode.query_length() > decode.queries()) decode.clear_query_length();
  RepairHeadStrides(decode);
  // One that is not there stays away.
  if (decode.has_q()) {
    RepairPatterns(*decode.mutable_q(), std::uint64_t{decode.queries()} *
                                            decode.heads() *
                                            (kLatent + decode.pe_dim()));
  }
}

}  // namespace mlafuzz
