#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "corpus/token_layout.h"
#include "corpus/values.h"
#include "properties/layout_pool.h"
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

using Lengths = google::protobuf::RepeatedField<std::int32_t>;

// Lets every lane of a row of one of `queries` that counts name a slot, or
// none.
void RepairLanes(Indices& indices, const Lengths& lengths,
                 std::uint32_t queries, std::int64_t slots) {
  indices.set_limit(std::min<std::uint32_t>(indices.limit(),
                                            static_cast<std::uint32_t>(slots)));
  const std::uint32_t rows = std::min(indices.rows(), queries);
  const std::uint32_t width = indices.width();
  const auto counts = [&](std::uint64_t at) {
    const int row = static_cast<int>(at / width);
    if (row >= static_cast<int>(rows)) return false;
    return row >= lengths.size() ||
           static_cast<std::int64_t>(at % width) < lengths.Get(row);
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

namespace {

std::uint32_t ListSize(std::uint32_t got, std::uint32_t want, bool invalid) {
  return invalid ? std::min(got, want + kMaxSurplus) : want;
}

void RepairIndices(Indices& indices, std::uint32_t queries, bool invalid) {
  indices.set_rows(ListSize(indices.rows(), queries, invalid));
  indices.set_row_stride(
      RepairStride(indices.row_stride(), indices.width(), 1, false));
  if (!Indices::Place_IsValid(indices.place())) indices.clear_place();
  if (!Indices::Pad_IsValid(indices.pad())) indices.clear_pad();
  KeepSets(indices);
}

void RepairLengths(std::uint32_t queries, bool invalid, Lengths* lengths) {
  if (lengths->empty()) return;
  lengths->Resize(
      static_cast<int>(ListSize(static_cast<std::uint32_t>(lengths->size()),
                                queries, invalid)),
      0);
  for (std::int32_t& length : *lengths) length = std::max(length, -1);
}

// A second cache in limits of its own: small, beside whatever the first is.
void RepairExtra(Decode& decode, const GeneratorOptions& options) {
  if (!decode.has_extra()) return;
  if (!HasExtra(options.layout)) {
    decode.clear_extra();
    return;
  }
  const CaseLimits limits = LimitsOf(options);
  ExtraCache& extra = *decode.mutable_extra();
  Pool& pool = *extra.mutable_pool();
  RepairPool(pool, options);
  if (!options.invalid) AlignForDecode(pool);
  pool.clear_layout();
  pool.set_offset(pool.offset() % 256);
  Indices& indices = *extra.mutable_indices();
  const std::uint64_t outputs = std::max<std::uint64_t>(
      1, std::uint64_t{decode.queries()} * std::min(decode.heads(), kMaxHeads));
  indices.set_width(std::min(
      {indices.width(), limits.decode_dense_width,
       std::max(1u,
                static_cast<std::uint32_t>(limits.decode_cells / outputs))}));
  RepairIndices(indices, decode.queries(), options.invalid);
  RepairLengths(decode.queries(), options.invalid, extra.mutable_lengths());
  RepairLanes(indices, extra.lengths(), decode.queries(),
              std::int64_t{pool.page_size()} * pool.pages());
}

}  // namespace

void AlignForDecode(Pool& pool) {
  constexpr std::uint32_t kRow = 16;
  pool.set_offset(pool.offset() / kRow * kRow);
  pool.set_row_stride((pool.row_stride() + kRow - 1) / kRow * kRow);
  if (pool.page_stride() == 0) return;
  pool.set_page_stride((pool.page_stride() + kRow - 1) / kRow * kRow);
  const std::uint64_t row = pool.row_stride() != 0
                                ? pool.row_stride()
                                : static_cast<std::uint64_t>(
                                      TokenLayoutOf(pool.layout()).token_bytes);
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
  const std::uint32_t rope = RopeBeyond(options.layout);
  if (decode.pe_dim() != 0 && decode.pe_dim() != rope &&
      (!options.invalid || decode.pe_dim() > 256)) {
    decode.set_pe_dim(rope);
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
  RepairIndices(indices, decode.queries(), options.invalid);
  RepairLengths(decode.queries(), options.invalid, decode.mutable_lengths());
  if (options.lengths && !options.invalid && decode.lengths_size() == 0) {
    decode.mutable_lengths()->Resize(
        static_cast<int>(decode.queries()),
        static_cast<std::int32_t>(indices.width()));
  }
  if (decode.sink_bits_size() > 0) {
    decode.mutable_sink_bits()->Resize(
        static_cast<int>(
            ListSize(static_cast<std::uint32_t>(decode.sink_bits_size()),
                     decode.heads(), options.invalid)),
        0);
  }
  RepairLanes(indices, decode.lengths(), decode.queries(),
              std::int64_t{pool.page_size()} * pool.pages());
  RepairExtra(decode, options);
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
