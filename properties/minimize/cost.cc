#include "properties/minimize/cost.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "corpus/values.h"

namespace mlafuzz {
namespace {

// No single number outweighs a thousand plain ones.
constexpr std::uint64_t kMostOfOne = 1u << 20;

std::uint64_t NumberCost(std::int64_t number) {
  if (number >= 0) {
    return std::min<std::uint64_t>(static_cast<std::uint64_t>(number),
                                   kMostOfOne);
  }
  // -1 is the plainest negative number; INT64_MIN has no negative.
  return kMostOfOne +
         std::min<std::uint64_t>(static_cast<std::uint64_t>(-(number + 1)),
                                 kMostOfOne);
}

void AddIntegers(const Integers& list, std::uint64_t count, CaseCost& cost) {
  const std::uint64_t literal =
      std::min<std::uint64_t>(count, list.values_size());
  for (const std::int64_t value : list.values()) cost[7] += NumberCost(value);
  if (count > literal) {
    cost[5] += 1 + (list.order() != Integers::IDENTITY);
    cost[7] += list.seed() != 0;
  }
}

void AddValues(const Values& values, DType dtype, CaseCost& cost) {
  switch (values.pattern()) {
    case Values::ZERO:
      break;
    case Values::CONSTANT:
      cost[6] += 6;
      cost[7] += BitsCost(values.bits(), dtype);
      break;
    case Values::MIXED:
      cost[6] += 12;
      break;
    case Values::RANDOM_BITS:
    case Values::SPECIALS:
      cost[6] += 10;
      break;
    default:
      cost[6] += 8;
  }
  cost[7] += std::min<std::uint64_t>(values.seed(), kMostOfOne);
  cost[6] += values.low_seed() != 0;
  cost[7] += std::min<std::uint64_t>(values.low_seed(), kMostOfOne);
  cost[6] += static_cast<std::uint64_t>(values.set_size());
  for (const SetBits& set : values.set()) {
    cost[7] += BitsCost(set.bits(), dtype) + set.at() + set.low();
  }
}

void AddTable(const Table& table, CaseCost& cost) {
  cost[2] += table.columns();
  cost[5] += (table.row_stride() != 0) + table.expanded();
  cost[7] += table.row_stride();
  AddIntegers(table.pages(),
              std::max<std::uint64_t>(table.pages().count(),
                                      table.pages().values_size()),
              cost);
}

// Lanes that may name a key.
std::uint64_t KeysOf(const Indices& indices) {
  std::uint64_t keys = 0;
  for (const std::int32_t index : ExpandIndices(indices)) keys += index >= 0;
  return keys;
}

void AddExtra(const ExtraCache& extra, CaseCost& cost) {
  const Pool& pool = extra.pool();
  const Indices& i = extra.indices();
  cost[0] += std::uint64_t{pool.page_size()} + pool.pages();
  cost[1] += 1 + i.rows();
  cost[2] += (std::uint64_t{i.width()} << 12) + KeysOf(i);
  cost[5] += (extra.lengths_size() > 0) + (i.row_stride() != 0) +
             (pool.page_stride() != 0) + (pool.offset() != 0) +
             (pool.row_bytes() != 0) + (i.place() != Indices::BACK) +
             (i.pad() != Indices::MINUS_ONE);
  cost[6] += (i.valid() > 0 && i.limit() > 1 ? 8 : 0) +
             static_cast<std::uint64_t>(i.set_size()) +
             static_cast<std::uint64_t>(pool.patches_size()) +
             (pool.fill().kind() != Fill::BYTE ? 4 : 0);
  cost[7] += i.row_stride() + std::min<std::uint64_t>(i.seed(), kMostOfOne) +
             i.limit() + i.valid() + pool.offset() + pool.page_stride() +
             std::min<std::uint64_t>(pool.fill().seed(), kMostOfOne) +
             pool.fill().byte();
  for (const SetIndex& set : i.set()) {
    cost[7] += IndexCost(set.value()) + set.at();
  }
  for (const std::int32_t length : extra.lengths()) {
    cost[7] += NumberCost(length);
  }
}

void AddDecode(const Decode& d, CaseCost& cost) {
  if (d.has_extra()) AddExtra(d.extra(), cost);
  const Indices& i = d.indices();
  cost[1] += std::uint64_t{d.queries()} + d.heads() + i.rows();
  // Of two widths the smaller one, then fewer keys.
  cost[2] += (std::uint64_t{i.width()} << 12) + KeysOf(i);
  cost[5] += (d.pe_dim() != 0) + (d.pe_dim() != 0 && d.pe_dim() != 64) +
             (d.lengths_size() > 0) + (d.sink_bits_size() > 0) +
             (d.splits() != 0) + (d.declared_topk() != 0) +
             (d.query_length() != 0) + (i.row_stride() != 0) +
             (d.q_head_stride() != 0) + (d.q_query_stride() != 0) +
             (d.out_head_stride() != 0) + (d.out_query_stride() != 0) +
             (d.lse_query_stride() != 0) + (i.place() != Indices::BACK) +
             (i.pad() != Indices::MINUS_ONE);
  cost[6] += (i.valid() > 0 && i.limit() > 1 ? 8 : 0) +
             static_cast<std::uint64_t>(i.set_size());
  cost[7] += i.row_stride() + std::min<std::uint64_t>(i.seed(), kMostOfOne) +
             i.limit() + i.valid() + d.splits() + d.declared_topk() +
             d.query_length() + d.q_head_stride() + d.q_query_stride() +
             d.out_head_stride() + d.out_query_stride() + d.lse_query_stride();
  for (const SetIndex& set : i.set()) {
    cost[7] += IndexCost(set.value()) + set.at();
  }
  for (const std::int32_t length : d.lengths()) cost[7] += NumberCost(length);
  // The upper halves of fp32 bits are those of a bf16.
  for (const std::uint32_t bits : d.sink_bits()) {
    cost[7] += BitsCost(bits >> 16, BF16) + ((bits & 0xffff) != 0 ? 4000 : 0);
  }
  cost[7] += BitsCost(d.softmax_scale_bits() >> 16, BF16) +
             ((d.softmax_scale_bits() & 0xffff) != 0 ? 4000 : 0);
  AddValues(d.q(), BF16, cost);
}

void AddStep(const Step& step, CaseCost& cost) {
  if (step.has_write()) {
    const Write& w = step.write();
    const std::uint64_t tokens =
        std::max<std::uint64_t>(w.slots().count(), w.slots().values_size());
    const DType dtype = w.input() == F16 ? F16 : BF16;
    cost[1] += tokens;
    AddIntegers(w.slots(), tokens, cost);
    cost[5] += (w.input() != DTYPE_UNSPECIFIED && w.input() != BF16) +
               (w.latent_dim() != 0) + (w.pe_dim() != 0) +
               (w.pe_dim() != 0 && w.pe_dim() != 64) +
               (w.kv_c_row_stride() != 0) + (w.k_pe_row_stride() != 0) +
               (w.surplus_rows() != 0) + (w.kv_c_offset() != 0) +
               (w.k_pe_offset() != 0);
    cost[7] += w.kv_c_row_stride() + w.k_pe_row_stride() + w.kv_c_offset() +
               w.k_pe_offset() + NumberCost(w.surplus_rows());
    AddValues(w.kv_c(), dtype, cost);
    AddValues(w.k_pe(), dtype, cost);
  } else if (step.has_gather()) {
    const Gather& g = step.gather();
    cost[1] += g.dst_rows() +
               static_cast<std::uint64_t>(g.workspace_starts_size()) +
               g.block_table().rows();
    AddTable(g.block_table(), cost);
    cost[5] += (g.seq_lens_size() > 0) + (g.seq_starts_size() > 0) +
               (g.dst_columns() != 0) + (g.dst_row_stride() != 0) +
               (g.output() != DTYPE_UNSPECIFIED) + g.nope();
    cost[7] += g.dst_row_stride() + g.dst_columns() +
               BitsCost(g.tensor_scale_bits() >> 16, BF16) +
               ((g.tensor_scale_bits() & 0xffff) != 0 ? 4000 : 0);
    for (const std::int32_t first : g.seq_starts()) {
      cost[7] += NumberCost(first);
    }
    for (const std::int32_t start : g.workspace_starts()) {
      cost[7] += NumberCost(start);
    }
    for (const std::int32_t rows : g.seq_lens()) cost[7] += NumberCost(rows);
  } else if (step.has_convert()) {
    const Convert& v = step.convert();
    const Indices& i = v.token_indices();
    cost[1] += i.rows() + v.block_table().rows();
    cost[2] += i.width();
    AddTable(v.block_table(), cost);
    AddIntegers(v.request_ids(), i.rows(), cost);
    cost[5] += (i.row_stride() != 0) + (v.out_row_stride() != 0) +
               v.valid_count() + (v.surplus_requests() != 0) +
               (i.place() != Indices::BACK) + (i.pad() != Indices::MINUS_ONE);
    // Generated entries are harder to read than given ones, unless the limit
    // makes them all 0.
    cost[6] += (i.valid() > 0 && i.limit() > 1 ? 8 : 0) +
               static_cast<std::uint64_t>(i.set_size());
    cost[7] += i.row_stride() + v.out_row_stride() +
               std::min<std::uint64_t>(i.seed(), kMostOfOne) +
               NumberCost(v.surplus_requests()) + i.limit() + i.valid();
    for (const SetIndex& set : i.set()) {
      cost[7] += IndexCost(set.value()) + set.at();
    }
    cost[1] += static_cast<std::uint64_t>(v.prefill_workspace_starts_size());
    cost[5] += v.prefill_request_ids_size() > 0;
    for (const std::int32_t id : v.prefill_request_ids()) {
      cost[7] += NumberCost(std::int64_t{id} + 1);
    }
    for (const std::int32_t start : v.prefill_workspace_starts()) {
      cost[7] += NumberCost(start);
    }
  } else if (step.has_decode()) {
    AddDecode(step.decode(), cost);
  } else if (step.has_patch()) {
    cost[6] += static_cast<std::uint64_t>(step.patch().data().size());
    cost[7] += step.patch().slot() + step.patch().at();
  }
}

}  // namespace

std::uint64_t SlotCost(std::int64_t slot) { return NumberCost(slot); }
std::uint64_t IndexCost(std::int64_t index) { return NumberCost(index); }

std::uint64_t BitsCost(std::uint32_t bits, DType dtype) {
  const int mantissa_bits = dtype == F16 ? 10 : 7;
  const int bias = dtype == F16 ? 15 : 127;
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent =
      static_cast<int>((bits & 0x7fff) >> mantissa_bits) - bias;
  // How deep the mantissa goes: 1 for a half, 2 for a quarter, ...
  const int depth =
      mantissa == 0 ? 0 : mantissa_bits - std::countr_zero(mantissa);
  return static_cast<std::uint64_t>(std::abs(exponent)) +
         2000 * ((bits >> 15) & 1) +
         500 * static_cast<std::uint64_t>(std::popcount(mantissa)) +
         static_cast<std::uint64_t>(depth);
}

CaseCost CostOf(const Case& c) {
  CaseCost cost{};
  const Pool& pool = c.pool();
  cost[0] = static_cast<std::uint64_t>(c.steps_size());
  cost[3] = std::uint64_t{pool.page_size()} * pool.pages();
  cost[4] = pool.page_size();
  cost[5] = (c.schedule() != 0) + (c.poison() != 0) +
            (pool.page_stride() != 0) + (pool.row_stride() != 0) +
            (pool.row_bytes() != 0) + (pool.offset() != 0);
  cost[7] = std::min<std::uint64_t>(c.schedule(), kMostOfOne) +
            std::min<std::uint64_t>(c.poison(), kMostOfOne) +
            std::min<std::uint64_t>(pool.page_stride(), kMostOfOne) +
            pool.row_stride() + pool.row_bytes() + pool.offset();
  switch (pool.fill().kind()) {
    case Fill::BYTE:
      cost[6] += pool.fill().byte() != 0;
      cost[7] += pool.fill().byte();
      break;
    default:
      cost[6] += 8 + (pool.fill().kind() == Fill::RANDOM_BYTES);
      cost[7] += std::min<std::uint64_t>(pool.fill().seed(), kMostOfOne) +
                 static_cast<std::uint64_t>(pool.fill().scales());
  }
  for (const Patch& patch : pool.patches()) {
    cost[6] += 1 + patch.data().size();
    cost[7] += patch.slot() + patch.at();
  }
  for (const Step& step : c.steps()) AddStep(step, cost);
  return cost;
}

}  // namespace mlafuzz
