#include <algorithm>
#include <bit>

#include "corpus/token_layout.h"
#include "properties/choices.h"
#include "properties/layout_pool.h"
#include "properties/matrix/chain.h"

namespace mlafuzz {
namespace {

// Latents whose tiles have scales of all fractions, some at the floors.
void SetLatents(Choices& choices, Values& values) {
  values.set_pattern(
      choices.Pick({Values::NORMAL_RANGE, Values::NORMAL_RANGE, Values::OUTLIER,
                    Values::OCTAVES, Values::MIDPOINTS, Values::FLOOR_EDGE,
                    Values::POW2_SCALE, Values::MIXED}));
  values.set_seed(choices.Below(1u << 16));
}

void SetNormal(Choices& choices, Values& values) {
  values.set_pattern(Values::NORMAL_RANGE);
  values.set_seed(choices.Below(1u << 16));
}

// A query of one column of a row's values, and maybe one of rope beyond them, a
// head: it reads a single value of a key, with the relative error of one
// product, where the bound of a sum over 512 grows with all of them.
void SetColumns(Choices& choices, Decode& decode) {
  const std::uint32_t columns = 512 + decode.pe_dim();
  const auto set = [&](std::uint32_t at) {
    SetBits& one = *decode.mutable_q()->add_set();
    one.set_at(at);
    // 8, 16 or 32, of either sign.
    one.set_bits((0x4100 + 0x80 * choices.Below(3)) | choices.Below(2) << 15);
  };
  for (std::uint32_t i = 0; i < decode.queries() * decode.heads(); ++i) {
    set(columns * i + choices.Below(512));
    if (decode.pe_dim() != 0 && choices.OneIn(2)) {
      set(columns * i + 512 + choices.Below(decode.pe_dim()));
    }
  }
}

// A query of one column of codes a head, of +-2^119: 256 times the scale of
// UE8M0 byte 0 it makes a logit of some size, and a sum of codes before their
// scale (448 * 2^119) stays within fp32.
void SetLargeColumns(Choices& choices, std::uint32_t codes, Decode& decode) {
  for (std::uint32_t i = 0; i < decode.queries() * decode.heads(); ++i) {
    SetBits& one = *decode.mutable_q()->add_set();
    one.set_at(512 * i + choices.Below(codes));
    one.set_bits(0x7b00 | choices.Below(2) << 15);
  }
}

bool Accepts(const DecodeContract& decode, std::uint32_t pe_dim) {
  return std::find(decode.pe_dims().begin(), decode.pe_dims().end(), pe_dim) !=
         decode.pe_dims().end();
}

// Columns of the query beyond a row's values. Rows without rope are met by
// either kind of query, those with rope by one.
std::uint32_t PeDim(const Chain& chain, Choices& choices) {
  const std::uint32_t rope = RopeBeyond(chain.reader.layout());
  if (rope == 0) return 0;
  const DecodeContract& rules = chain.reader.decode();
  const bool either = chain.rope != Rope::kWritten;
  return either && Accepts(rules, 0) &&
                 (!Accepts(rules, rope) || choices.OneIn(2))
             ? 0
             : rope;
}

// A second cache, none of whose scales is at an end (see Fits()).
void SetSecondCache(Choices& choices, Layout layout, Decode& decode) {
  ExtraCache& extra = *decode.mutable_extra();
  Pool& pool = *extra.mutable_pool();
  SetLayout(layout, pool);
  pool.set_page_size(choices.Pick<std::uint32_t>({1, 2, 3}));
  pool.set_pages(1 + choices.Below(2));
  if (choices.OneIn(3)) {
    pool.set_page_stride(PlainPageStride(pool) + 16 * (1 + choices.Below(8)));
  }
  pool.mutable_fill()->set_kind(Fill::FINITE_ROWS);
  pool.mutable_fill()->set_seed(1 + choices.Below(1u << 16));
  pool.clear_layout();  // the first one's
  Indices& indices = *extra.mutable_indices();
  indices.set_rows(decode.queries());
  indices.set_width(1 + choices.Below(4));
  indices.set_valid(1 + choices.Below(indices.width()));
  indices.set_limit(pool.page_size() * pool.pages());
  indices.set_seed(choices.Below(1u << 16));
  if (choices.OneIn(2)) return;
  for (std::uint32_t i = 0; i < decode.queries(); ++i) {
    extra.add_lengths(
        static_cast<std::int32_t>(choices.Below(1 + indices.width())));
  }
}

// `small`: values are as large as the scale of UE8M0 byte 0 makes them.
void SetDecode(const Chain& chain, Choices& choices, std::uint32_t slots,
               bool small, Decode& decode) {
  decode.set_pe_dim(PeDim(chain, choices));
  decode.set_queries(1 + choices.Below(2));
  // Behind the last head of q lies nothing that a stale tail could meet.
  decode.set_heads(2 + choices.Below(2));
  const Layout layout = chain.reader.layout();
  if (small) {
    SetLargeColumns(choices,
                    static_cast<std::uint32_t>(TokenLayoutOf(layout).codes),
                    decode);
  } else if (choices.OneIn(2)) {
    SetColumns(choices, decode);
  } else {
    SetNormal(choices, *decode.mutable_q());
  }
  Indices& indices = *decode.mutable_indices();
  indices.set_rows(decode.queries());
  indices.set_width(1 + choices.Below(8));
  // A key alone has weight 1, which no rounding changes.
  indices.set_valid(choices.OneIn(2) ? 1 : 1 + choices.Below(indices.width()));
  indices.set_limit(slots);
  indices.set_seed(choices.Below(1u << 16));
  decode.set_softmax_scale_bits(std::bit_cast<std::uint32_t>(
      choices.Pick({1 / 24.0f, 0.0721687824f, 0.125f})));
  // Beside a query that large its values would be all there is.
  if (chain.second_cache && !small && !choices.OneIn(4)) {
    SetSecondCache(choices, layout, decode);
  }
  // vLLM's backend of DeepSeek-V4 gives the lengths of its sliding windows.
  // None is 0: a row without keys says nothing.
  const bool demanded = chain.reader.decode().lengths_demand() ==
                        DecodeContract::LENGTHS_DEMANDED;
  if (!demanded && (layout == FP8_DS_MLA || choices.OneIn(2))) return;
  for (std::uint32_t i = 0; i < decode.queries(); ++i) {
    decode.add_lengths(
        static_cast<std::int32_t>(1 + choices.Below(indices.width())));
  }
}

void SetGather(const Chain& chain, Choices& choices, const Pool& pool,
               Gather& gather) {
  const std::uint32_t slots = pool.page_size() * pool.pages();
  const std::uint32_t requests = 1 + choices.Below(2);
  Table& table = *gather.mutable_block_table();
  table.set_rows(requests);
  table.set_columns(pool.pages());
  table.mutable_pages()->set_count(requests * pool.pages());
  table.mutable_pages()->set_order(Integers::PERMUTED);
  table.mutable_pages()->set_seed(choices.Below(1u << 16));
  const auto& lengths = chain.reader.gather().lengths();
  const bool starts = std::find(lengths.begin(), lengths.end(),
                                GatherContract::FROM_STARTS) != lengths.end();
  std::uint32_t rows = 0;
  for (std::uint32_t i = 0; i < requests; ++i) {
    const std::uint32_t length = 1 + choices.Below(slots);
    gather.add_workspace_starts(static_cast<std::int32_t>(rows));
    if (!starts) gather.add_seq_lens(static_cast<std::int32_t>(length));
    rows += length;
  }
  gather.set_dst_rows(rows);
  // Of rows that could have rope and have none.
  gather.set_nope(chain.rope != Rope::kWritten &&
                  chain.reader.layout() == FP8_DS_MLA);
  const TokenLayout& layout = TokenLayoutOf(chain.reader.layout());
  if (!layout.copied) return;
  gather.add_workspace_starts(static_cast<std::int32_t>(rows));
  if (choices.OneIn(2)) {  // rows of codes that do not touch
    gather.set_dst_row_stride(
        static_cast<std::uint32_t>(layout.codes + 4 * (1 + choices.Below(32))));
  }
}

// Latents for layouts beside the 656-byte row: those above; Inf, NaN and small
// values for the ends of a UE8M0 scale. True: small ones.
bool SetOtherLatents(Choices& choices, const TokenLayout& layout,
                     Values& values) {
  if (!layout.ue8m0() || choices.OneIn(2)) {
    SetLatents(choices, values);
    return false;
  }
  if (choices.OneIn(2)) {
    values.set_pattern(Values::SPECIALS);
    values.set_seed(choices.Below(1u << 16));
    return false;
  }
  // +-2^-119, which is 448 times the scale of byte 0, rounded up.
  values.set_pattern(Values::CONSTANT);
  values.set_bits(0x0400 | choices.Below(2) << 15);
  return true;
}

Case OtherCase(const Chain& chain, Choices& choices) {
  const TokenLayout& layout = TokenLayoutOf(chain.writer.layout());
  Case c;
  Pool& pool = *c.mutable_pool();
  SetLayout(layout.layout, pool);
  pool.set_page_size(choices.Pick<std::uint32_t>({1, 2, 3, 4}));
  pool.set_pages(1 + choices.Below(3));
  if (choices.OneIn(3)) {
    // What a decode takes, or any that rows may begin at.
    const std::uint32_t step =
        chain.kernel == Kernel::kDecode
            ? 16
            : static_cast<std::uint32_t>(layout.alignment);
    pool.set_page_stride(PlainPageStride(pool) + step * (1 + choices.Below(8)));
  }
  pool.mutable_fill()->set_kind(
      choices.Pick({Fill::RANDOM_BYTES, Fill::ROWS, Fill::FINITE_ROWS}));
  pool.mutable_fill()->set_seed(1 + choices.Below(1u << 16));
  const std::uint32_t slots = pool.page_size() * pool.pages();
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->set_count(slots);
  write.mutable_slots()->set_order(Integers::PERMUTED);
  write.mutable_slots()->set_seed(choices.Below(1u << 16));
  write.set_pe_dim(static_cast<std::uint32_t>(layout.rope));
  const bool small = SetOtherLatents(choices, layout, *write.mutable_kv_c());
  if (layout.rope != 0) SetNormal(choices, *write.mutable_k_pe());
  if (chain.kernel == Kernel::kGather) {
    SetGather(chain, choices, pool, *c.add_steps()->mutable_gather());
  } else {
    SetDecode(chain, choices, slots, small, *c.add_steps()->mutable_decode());
  }
  c.set_poison(choices.Below(1u << 16));
  return c;
}

}  // namespace

Case ChainCase(const Chain& chain, std::uint64_t seed) {
  Choices choices(seed);
  if (chain.writer.layout() != FP8_DS_MLA) return OtherCase(chain, choices);
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_page_size(choices.Pick<std::uint32_t>({1, 2, 3, 4}));
  pool.set_pages(1 + choices.Below(3));
  if (choices.OneIn(3)) {
    pool.set_page_stride(656 * pool.page_size() + 16 * (1 + choices.Below(4)));
  }
  pool.mutable_fill()->set_kind(
      choices.Pick({Fill::RANDOM_BYTES, Fill::ROWS, Fill::FINITE_ROWS}));
  pool.mutable_fill()->set_seed(1 + choices.Below(1u << 16));
  const std::uint32_t slots = pool.page_size() * pool.pages();
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->set_count(slots);
  write.mutable_slots()->set_order(Integers::PERMUTED);
  write.mutable_slots()->set_seed(choices.Below(1u << 16));
  write.set_pe_dim(chain.rope == Rope::kNone ? 0 : 64);
  SetLatents(choices, *write.mutable_kv_c());
  if (chain.rope == Rope::kWritten) SetNormal(choices, *write.mutable_k_pe());
  if (chain.kernel == Kernel::kGather) {
    SetGather(chain, choices, pool, *c.add_steps()->mutable_gather());
  } else {
    SetDecode(chain, choices, slots, /*small=*/false,
              *c.add_steps()->mutable_decode());
  }
  c.set_poison(choices.Below(1u << 16));
  return c;
}

}  // namespace mlafuzz
