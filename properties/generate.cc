#include "properties/generate.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "corpus/token_layout.h"
#include "properties/generate_for.h"
#include "properties/layout_pool.h"
#include "properties/refused.h"
#include "properties/repair.h"
#include "properties/variants.h"

namespace mlafuzz {
namespace {

// One in this many cases is made for one contract field: enough that each of
// some thirty fields has its cases soon, few enough that what no field says
// (refusals, odd programs) stays frequent.
constexpr std::uint32_t kMadeForFieldOneIn = 3;

std::uint32_t CeilDiv(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

// Bytes or elements between rows beyond the row itself, in units of `unit`.
std::uint32_t Gap(Choices& choices, std::uint32_t unit) {
  return unit * choices.Pick<std::uint32_t>({1, 1, 2, 3, 7, 8});
}

// Of a writer's inputs, which are slices of a projection's output: 64 values of
// rope beside 512 of latent, and 1536 of the query beside both (DeepSeek-V3).
std::uint32_t SourceGap(Choices& choices, std::uint32_t unit) {
  return choices.Pick<std::uint32_t>(
      {unit, unit, 2 * unit, 3 * unit, 7 * unit, 64, 512, 1600, 2048});
}

// Of rows of dst. The scales of copied codes have been placed by that stride.
std::uint32_t DstGap(Choices& choices, const TokenLayout& layout) {
  if (!layout.copied) return Gap(choices, 8);
  return choices.OneIn(2)
             ? Gap(choices, 4)
             : static_cast<std::uint32_t>(layout.tile) * (1 + choices.Below(2));
}

std::uint32_t PageSize(Choices& choices) {
  const std::uint32_t draw = choices.Below(100);
  if (draw < 18) return 1;
  if (draw < 38) return 2;
  if (draw < 54) return 3;
  if (draw < 70) return 4 + choices.Below(8);
  if (draw < 88) return 16;
  if (draw < 95) return 64;
  if (draw < 97) return 128;
  if (draw < 98) return 256;
  return 12 + choices.Below(30);
}

void GenerateFill(Choices& choices, Fill& fill) {
  switch (choices.Below(8)) {
    case 0:
      fill.set_byte(choices.Pick<std::uint32_t>({0x7f, 0x7f, 0xff}));
      break;
    case 1:
      fill.set_byte(0x80);
      break;
    case 2:
      break;  // zeros
    case 3:
      fill.set_byte(choices.Below(256));
      break;
    case 4:
      fill.set_kind(Fill::RANDOM_BYTES);
      fill.set_seed(choices.Below(1u << 16));
      break;
    default:
      fill.set_kind(Fill::ROWS);
      fill.set_seed(choices.Below(1u << 16));
      fill.set_scales(static_cast<Fill::Scales>(choices.Below(5)));
  }
}

// 16-bit patterns at which a writer's rule changes, in either format: the
// bits of one value of the tile.
std::uint32_t EdgeBits(Choices& choices) {
  const std::uint32_t sign = choices.Below(2) << 15;
  switch (choices.Below(8)) {
    case 0:  // 448 * FLT_MIN in bf16 and one step beside it
      return 0x04e0 - 1 + choices.Below(3);
    case 1:  // 448 * 2^k in bf16 (exponent field free), one step beside it
      return sign |
             ((100 + choices.Below(50)) << 7 | 0x60) - 1 + choices.Below(3);
    case 2:  // 448 * 1e-4 in bf16
      return sign | (0x3d37 - 1 + choices.Below(3));
    case 3:
      return sign | choices.Pick<std::uint32_t>(
                        {0x7f80, 0x7fc0, 0x7f81, 0x7c00, 0x7e00});
    case 4:
      return sign | choices.Pick<std::uint32_t>(
                        {0x7f7f, 0x7bff, 0x0001, 0x0080, 0x0400});
    case 5:
      return 0x8000;
    default:
      return choices.Below(1u << 16);
  }
}

// Threads of a warp: more requests than that take more than a lane each.
constexpr std::uint32_t kWarp = 32;

// A block of 128, 256 or 512 threads, a token each, and one beside it.
std::uint32_t ManyTokens(Choices& choices) {
  return choices.Pick<std::uint32_t>({127, 128, 129, 255, 256, 257, 512, 513});
}

// How many rows or tokens: few, and now and then one of the counts at which
// launches have broken (a block more than 64).
std::uint32_t Tokens(Choices& choices) {
  const std::uint32_t draw = choices.Below(256);
  if (draw < 142) return 1;
  if (draw < 190) return 2;
  if (draw < 222) return 3 + choices.Below(2);
  if (draw < 237) return 0;
  if (draw < 248) return 5 + choices.Below(8);
  if (draw < 249) return 13 + choices.Below(30);
  if (draw < 250) return ManyTokens(choices);
  return 63 + draw % 3;
}
// From here on a batch has more tokens than most pools have slots.
constexpr std::uint32_t kManyTokens = 127;

std::int64_t NegativeSlot(Choices& choices) {
  switch (choices.Below(6)) {
    case 0:
      return -2 - static_cast<std::int64_t>(choices.Below(20));
    case 1:
      return -(std::int64_t{1} << 32) + choices.Below(3);
    case 2:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return -1;
  }
}

void GenerateSlots(Choices& choices, const Pool& pool, std::uint32_t tokens,
                   Integers& slots) {
  const std::uint32_t page = pool.page_size();
  const std::uint32_t n = page * pool.pages();
  if (tokens >= kManyTokens && tokens > n) {
    // Skipped first, so that the last ones are stored.
    const std::uint32_t stored = 1 + choices.Below(std::min(n, 16u));
    slots.mutable_values()->Resize(static_cast<int>(tokens - stored), -1);
    slots.set_count(tokens);
    slots.set_order(Integers::PERMUTED);
    slots.set_seed(choices.Below(1u << 16));
    return;
  }
  if (tokens > 8 && !choices.OneIn(3)) {
    // A list that stays short in text: -1s, then distinct generated slots.
    for (std::uint32_t i = choices.Below(3); i > 0; --i) slots.add_values(-1);
    slots.set_count(
        std::min(tokens, n + static_cast<std::uint32_t>(slots.values_size())));
    slots.set_order(choices.OneIn(4) ? Integers::IDENTITY : Integers::PERMUTED);
    slots.set_seed(choices.Below(1u << 16));
    return;
  }
  const bool all_skipped = choices.OneIn(48);
  slots.mutable_values()->Reserve(static_cast<int>(tokens));
  for (std::uint32_t i = 0; i < tokens; ++i) {
    if (all_skipped || choices.OneIn(tokens == 1 ? 12 : 6)) {
      slots.add_values(NegativeSlot(choices));
      continue;
    }
    switch (choices.Below(8)) {
      case 0:
        slots.add_values(0);
        break;
      case 1:
        slots.add_values(n - 1);
        break;
      case 2:  // first row of a page
        slots.add_values(choices.Below(pool.pages()) * page);
        break;
      case 3:  // last row of a page
        slots.add_values(choices.Below(pool.pages()) * page + page - 1);
        break;
      default:
        slots.add_values(choices.Below(n));
    }
  }
}

// An entry that is not read may hold anything.
std::int64_t Junk(Choices& choices, std::uint32_t pages) {
  switch (choices.Below(6)) {
    case 0:
      return std::numeric_limits<std::int32_t>::max() -
             static_cast<std::int64_t>(choices.Below(2));
    case 1:
      return pages;
    case 2:
      return -2 - static_cast<std::int64_t>(choices.Below(100));
    case 3:
      return std::numeric_limits<std::int32_t>::min();
    default:
      return -1;
  }
}

void TableView(Choices& choices, Table& table) {
  if (choices.OneIn(4)) {
    table.set_row_stride(table.columns() + 1 + choices.Below(8));
  }
  if (choices.OneIn(8)) table.set_expanded(true);
}

// Entries of the whole table; `read` says which columns of which row are.
template <typename Read>
void GeneratePages(Choices& choices, std::uint32_t pages, Table& table,
                   const Read& read) {
  const std::uint32_t rows =
      table.expanded() ? std::min(table.rows(), 1u) : table.rows();
  if (rows * table.columns() > 24 || choices.OneIn(8)) {
    table.mutable_pages()->set_count(rows * table.columns());
    table.mutable_pages()->set_order(choices.OneIn(4) ? Integers::IDENTITY
                                                      : Integers::PERMUTED);
    table.mutable_pages()->set_seed(choices.Below(1u << 16));
    return;
  }
  const bool junk = !choices.OneIn(3);
  table.mutable_pages()->mutable_values()->Reserve(
      static_cast<int>(rows * table.columns()));
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t c = 0; c < table.columns(); ++c) {
      table.mutable_pages()->add_values(
          read(r, c) || !junk ? choices.Below(pages) : Junk(choices, pages));
    }
  }
}

// A request's rows: around the page size, or a few.
std::uint32_t Length(Choices& choices, std::uint32_t page) {
  switch (choices.Below(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return page - 1;
    case 3:
      return page;
    case 4:
      return page + 1;
    default:
      return choices.Below(std::min(2 * page + 2, 12u));
  }
}

constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kInt32Min = std::numeric_limits<std::int32_t>::min();

// A start that lies in no dst.
std::int32_t StartOutside(Choices& choices, const Gather& gather,
                          bool negative) {
  const auto rows = static_cast<std::int32_t>(gather.dst_rows());
  switch (choices.Below(negative ? 6 : 4)) {
    case 0:
      return kInt32Max - static_cast<std::int32_t>(choices.Below(2));
    case 1:
      return rows;
    case 4:
      return -1 - static_cast<std::int32_t>(choices.Below(9));
    case 5:
      return kInt32Min;
    default:
      return rows + 1 + static_cast<std::int32_t>(choices.Below(300));
  }
}

// Requests laid out from front to back, bent into another form that a contract
// allows. True if rows of dst may now belong to two requests.
bool BendLengths(Choices& choices, std::uint32_t page, Gather& gather) {
  auto& starts = *gather.mutable_workspace_starts();
  auto& lens = *gather.mutable_seq_lens();
  const int n = starts.size();
  const int i = static_cast<int>(choices.Below(static_cast<std::uint32_t>(n)));
  switch (choices.Below(4)) {
    case 0:  // in any order
      for (int k = n - 1; k > 0; --k) {
        const int other =
            static_cast<int>(choices.Below(static_cast<std::uint32_t>(k + 1)));
        starts.SwapElements(k, other);
        lens.SwapElements(k, other);
      }
      return false;
    case 1:  // no rows by a negative length
      lens.Set(i, choices.Pick<std::int32_t>(
                      {-1, -2, -static_cast<std::int32_t>(page), kInt32Min}));
      if (choices.OneIn(2)) starts.Set(i, StartOutside(choices, gather, true));
      return false;
    case 2:  // no rows, at no place
      lens.Set(i, 0);
      starts.Set(i, StartOutside(choices, gather, true));
      return false;
    default: {  // a part of one request's rows, once more
      const int other = (i + 1) % n;
      const std::uint32_t rows = static_cast<std::uint32_t>(lens.Get(i));
      if (n < 2 || rows == 0) return false;
      const bool firsts = gather.seq_starts_size() > 0;
      const std::int32_t skip =
          firsts ? static_cast<std::int32_t>(choices.Below(rows)) : 0;
      starts.Set(other, starts.Get(i) + skip);
      lens.Set(other, 1 + static_cast<std::int32_t>(choices.Below(
                              rows - static_cast<std::uint32_t>(skip))));
      if (firsts) gather.set_seq_starts(other, gather.seq_starts(i) + skip);
      return true;
    }
  }
}

bool BendStarts(Choices& choices, Gather& gather) {
  auto& starts = *gather.mutable_workspace_starts();
  const int n = starts.size();
  const int i = static_cast<int>(choices.Below(static_cast<std::uint32_t>(n)));
  switch (choices.Below(4)) {
    case 0:  // descending: what lies before the lowest has no rows
      for (int k = i - 1; k >= 0; --k) {
        starts.Set(
            k, starts.Get(k + 1) + static_cast<std::int32_t>(choices.Below(4)));
      }
      return false;
    case 1:  // the last ones past the end
      for (int k = i; k < n; ++k) {
        starts.Set(k, StartOutside(choices, gather, false));
      }
      return false;
    case 2:  // one anywhere
      starts.Set(i, choices.OneIn(2) ? StartOutside(choices, gather, false)
                                     : static_cast<std::int32_t>(choices.Below(
                                           gather.dst_rows() + 1)));
      return true;
    default:  // back to where an earlier one began
      if (n < 3) return false;
      gather.clear_seq_starts();
      starts.Set(i, starts.Get((i + n - 2) % n));
      return true;
  }
}

// First token and rows of a request.
std::pair<std::uint32_t, std::uint32_t> TokensOf(const Gather& gather, int i) {
  const std::int64_t end = gather.dst_rows();
  std::int64_t rows = 0;
  if (gather.seq_lens_size() > 0) {
    rows = gather.seq_lens(i);
  } else {
    rows = (i + 1 < gather.workspace_starts_size()
                ? std::min<std::int64_t>(gather.workspace_starts(i + 1), end)
                : end) -
           std::min<std::int64_t>(gather.workspace_starts(i), end);
  }
  return {i < gather.seq_starts_size()
              ? static_cast<std::uint32_t>(gather.seq_starts(i))
              : 0,
          static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 0))};
}

// A byte at the begin or end of a part of a token.
std::uint32_t PatchedByte(Choices& choices, Layout layout) {
  const TokenLayout& token = TokenLayoutOf(layout);
  const auto scales = static_cast<std::uint32_t>(token.scales_at);
  const auto size = static_cast<std::uint32_t>(token.scale_bytes);
  const auto last = static_cast<std::uint32_t>(token.tiles() - 1) * size;
  return choices.Pick<std::uint32_t>(
      {0, 127, scales, scales + std::min(size, last), scales + last,
       token.rope > 0 ? static_cast<std::uint32_t>(token.rope_at) : 0,
       static_cast<std::uint32_t>(token.token_bytes - 1)});
}

}  // namespace

Pool GeneratePool(Choices& choices, const GeneratorOptions& options) {
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const auto alignment = static_cast<std::uint32_t>(layout.alignment);
  Pool pool;
  SetLayout(options.layout, pool);
  pool.set_page_size(PageSize(choices));
  const std::uint32_t page = pool.page_size();
  pool.set_pages(1 + choices.Below(page >= 64 ? 2 : page >= 12 ? 3 : 6));
  if (!options.small && choices.OneIn(4)) {
    pool.set_pages(pool.pages() + choices.Below(2048 / page));
  }
  if (!layout.split() && choices.OneIn(6)) {
    pool.set_row_stride(static_cast<std::uint32_t>(layout.token_bytes) +
                        Gap(choices, 8));
  }
  if (choices.OneIn(5)) {
    // Now and then whole rows: a page's stride over a row's is then no page
    // size, as in a pool of several layers, or FlashMLA's packer.
    const auto row = static_cast<std::uint32_t>(layout.token_bytes);
    const std::uint32_t gap = choices.Pick(
        {alignment, 2 * alignment, 3 * alignment, 8 * alignment, row, 2 * row});
    pool.set_page_stride(PlainPageStride(pool) + gap);
  }
  if (choices.OneIn(6)) pool.set_offset(Gap(choices, alignment));
  GenerateFill(choices, *pool.mutable_fill());
  return pool;
}

Values GenerateValues(Choices& choices, Layout layout) {
  Values values;
  const std::uint32_t draw = choices.Below(24);
  if (draw <= Values::MIXED) {
    values.set_pattern(static_cast<Values::Pattern>(draw));
  } else if (draw < 20) {
    values.set_pattern(Values::MIXED);
  } else if (draw < 22) {
    values.set_pattern(Values::NORMAL_RANGE);
  } else {
    values.set_pattern(Values::OCTAVES);
  }
  if (values.pattern() == Values::CONSTANT) {
    values.set_bits(EdgeBits(choices));
  } else if (values.pattern() != Values::ZERO) {
    values.set_seed(choices.Below(1u << 16));
  }
  if (choices.OneIn(4)) {
    for (std::uint32_t i = 1 + choices.Below(2); i > 0; --i) {
      SetBits& set = *values.add_set();
      set.set_at(choices.Below(
          static_cast<std::uint32_t>(TokenLayoutOf(layout).codes)));
      set.set_bits(EdgeBits(choices));
    }
  }
  return values;
}

Write GenerateWrite(Choices& choices, const Pool& pool,
                    const GeneratorOptions& options) {
  Write write;
  std::uint32_t tokens = Tokens(choices);
  if (!options.small && choices.OneIn(16)) tokens += choices.Below(512);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  GenerateSlots(choices, pool, tokens, *write.mutable_slots());
  if (TakesAnySlot(options.layout)) {
    for (std::int64_t& slot : *write.mutable_slots()->mutable_values()) {
      if (choices.OneIn(16)) {
        slot = pool.page_size() * pool.pages() + choices.Below(5);
      }
    }
  }
  if (choices.OneIn(3)) write.set_input(F16);
  if (layout.layout != FP8_DS_MLA) {
    write.set_pe_dim(static_cast<std::uint32_t>(layout.rope));
  } else if (!choices.OneIn(3)) {
    write.set_pe_dim(64);
  }
  *write.mutable_kv_c() = GenerateValues(choices, options.layout);
  if (choices.OneIn(6)) {
    write.set_kv_c_row_stride(static_cast<std::uint32_t>(layout.codes) +
                              SourceGap(choices, 8));
  }
  if (choices.OneIn(8)) write.set_kv_c_offset(Gap(choices, 8));
  if (write.pe_dim() != 0) {
    Values& rope = *write.mutable_k_pe();
    switch (choices.Below(8)) {
      case 0:
        break;  // zeros
      case 1:
        rope.set_pattern(Values::SPECIALS);
        break;
      case 2:
        rope.set_pattern(Values::MIXED);
        break;
      default:
        rope.set_pattern(Values::RANDOM_BITS);
    }
    if (rope.pattern() != Values::ZERO) rope.set_seed(choices.Below(1u << 16));
    if (choices.OneIn(6)) {
      write.set_k_pe_row_stride(64 + SourceGap(choices, 2));
    }
    if (choices.OneIn(8)) write.set_k_pe_offset(Gap(choices, 2));
  }
  if (choices.OneIn(8)) {
    write.set_surplus_rows(static_cast<std::int32_t>(1 + choices.Below(3)));
  }
  RepairWrite(write, pool, options);
  return write;
}

Gather GenerateGather(Choices& choices, const Pool& pool,
                      const GeneratorOptions& options) {
  Gather gather;
  const CaseLimits limits = LimitsOf(options);
  const std::uint32_t page = pool.page_size();
  const std::uint32_t draw = choices.Below(64);
  const std::uint32_t requests = draw == 0   ? 0
                                 : draw < 30 ? 1
                                 : draw < 48 ? 2
                                 : draw < 60 ? 3 + choices.Below(3)
                                 : draw < 63 ? 6 + choices.Below(12)
                                             : kWarp + 1 + choices.Below(16);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const bool lens = !layout.copied && choices.OneIn(3);
  const bool firsts = !layout.copied && choices.OneIn(3);
  // Many short requests take more pages than their rows fill.
  const bool short_ones = requests > 5 || choices.OneIn(6);
  std::uint32_t at = choices.OneIn(5) ? 1 + choices.Below(3) : 0;
  for (std::uint32_t i = 0; i < requests; ++i) {
    std::uint32_t rows = short_ones ? choices.Below(3) : Length(choices, page);
    rows = std::min(rows, limits.dst_rows - std::min(limits.dst_rows, at));
    gather.add_workspace_starts(static_cast<std::int32_t>(at));
    at += rows;
    if (lens) {
      gather.add_seq_lens(static_cast<std::int32_t>(rows));
      if (choices.OneIn(4)) at += choices.Below(3);  // rows of nobody
    }
    std::uint32_t first = 0;
    if (firsts) {
      switch (choices.Below(6)) {
        case 0:
          break;
        case 1:
          first = 1;
          break;
        case 2:
          first = page - 1;
          break;
        case 3:
          first = page;
          break;
        default:
          first = choices.Below(std::min(3 * page, 40u));
      }
      gather.add_seq_starts(static_cast<std::int32_t>(first));
    }
  }
  gather.set_dst_rows(std::min(at, limits.dst_rows));
  const bool shared =
      requests > 0 && choices.OneIn(4) &&
      (lens ? BendLengths(choices, page, gather) : BendStarts(choices, gather));
  if (layout.copied) {
    // The end of the last request, and now and then rows of nobody behind it.
    gather.add_workspace_starts(static_cast<std::int32_t>(gather.dst_rows()));
    if (choices.OneIn(5)) {
      gather.set_dst_rows(gather.dst_rows() + 1 + choices.Below(3));
    }
  }
  std::vector<std::uint32_t> from(requests), to(requests);  // columns read
  std::uint32_t columns = choices.Below(3);
  for (std::uint32_t i = 0; i < requests; ++i) {
    const auto [first, rows] = TokensOf(gather, static_cast<int>(i));
    from[i] = first / page;
    to[i] = rows > 0 ? CeilDiv(first + rows, page) : from[i];
    columns = std::max(columns, to[i]);
  }
  if (choices.OneIn(6)) {
    gather.set_dst_row_stride(static_cast<std::uint32_t>(layout.dst_columns()) +
                              DstGap(choices, layout));
  }
  gather.set_nope(choices.OneIn(2) && layout.layout == FP8_DS_MLA);
  Table& table = *gather.mutable_block_table();
  table.set_rows(requests);
  table.set_columns(columns + (choices.OneIn(3) ? 1 + choices.Below(3) : 0));
  TableView(choices, table);
  // Requests that share rows of dst must agree on their source.
  if (shared) table.set_expanded(true);
  GeneratePages(choices, pool.pages(), table,
                [&](std::uint32_t row, std::uint32_t column) {
                  if (!table.expanded()) {
                    return column >= from[row] && column < to[row];
                  }
                  bool read = false;
                  for (std::uint32_t i = 0; i < requests; ++i) {
                    read |= column >= from[i] && column < to[i];
                  }
                  return read;
                });
  RepairGather(gather, pool, options);
  return gather;
}

Convert GenerateConvert(Choices& choices, const Pool& pool,
                        const GeneratorOptions& options) {
  Convert convert;
  const std::uint32_t page = pool.page_size();
  Indices& indices = *convert.mutable_token_indices();
  const std::uint32_t draw = choices.Below(64);
  const bool many = draw == 63;
  indices.set_rows(draw == 0   ? 0
                   : draw < 28 ? 1
                   : draw < 56 ? 2 + choices.Below(3)
                   : many      ? ManyTokens(choices)
                               : 5 + choices.Below(8));
  switch (choices.Below(8)) {
    case 0:
      indices.set_width(1);
      break;
    case 1:
      indices.set_width(2);
      break;
    case 2:
      indices.set_width(choices.OneIn(12)
                            ? choices.Pick<std::uint32_t>({192, 256, 512, 2176})
                            : 126 + choices.Below(4));
      break;
    default:
      indices.set_width(3 + choices.Below(14));
  }
  if (many) indices.set_width(1 + indices.width() % 3);
  const std::uint32_t width = indices.width();
  indices.set_rows(std::min(
      indices.rows(), std::max(1u, (many ? 1600 : 512) / std::max(width, 1u))));
  if (choices.OneIn(6)) indices.set_row_stride(width + Gap(choices, 1));
  if (choices.OneIn(6)) convert.set_out_row_stride(width + Gap(choices, 1));
  indices.set_seed(choices.Below(1u << 16));
  indices.set_valid(choices.Pick<std::uint32_t>(
      {0, 1, width - 1, width, choices.Below(width + 1)}));
  indices.set_place(static_cast<Indices::Place>(choices.Below(4)));
  indices.set_pad(choices.OneIn(2)
                      ? Indices::MINUS_ONE
                      : static_cast<Indices::Pad>(choices.Below(4)));

  Table& table = *convert.mutable_block_table();
  table.set_rows(many ? kWarp + 1 + choices.Below(16)
                      : 1 + choices.Below(choices.OneIn(3) ? 1 : 4));
  table.set_columns(1 + choices.Below(6));
  TableView(choices, table);
  const std::uint32_t tokens = table.columns() * page;
  // Tokens of a few columns only, of all, or past the table too.
  indices.set_limit(choices.Pick<std::uint32_t>(
      {tokens, tokens, tokens + page, 1 + choices.Below(tokens)}));
  if (choices.OneIn(3) && indices.rows() * width > 0) {
    for (std::uint32_t i = 1 + choices.Below(3); i > 0; --i) {
      SetIndex& set = *indices.add_set();
      set.set_at(choices.Below(indices.rows() * width));
      set.set_value(choices.Pick<std::int32_t>(
          {0, static_cast<std::int32_t>(tokens - 1),
           static_cast<std::int32_t>(tokens),
           static_cast<std::int32_t>(tokens + page - 1),
           static_cast<std::int32_t>(page - 1), -1, -2,
           std::numeric_limits<std::int32_t>::min(),
           std::numeric_limits<std::int32_t>::max()}));
    }
  }
  for (std::uint32_t i = 0; i < indices.rows(); ++i) {
    convert.mutable_request_ids()->add_values(choices.Below(table.rows()));
  }
  convert.set_valid_count(choices.OneIn(2));
  // Which columns are read depends on the indices; RepairConvert makes what is
  // read a page.
  const std::uint32_t read_share = choices.Below(4);
  GeneratePages(choices, pool.pages(), table,
                [&](std::uint32_t, std::uint32_t) {
                  return choices.Below(4) < read_share;
                });
  RepairConvert(convert, pool, options);
  return convert;
}

Case GenerateCase(Choices& choices, const GeneratorOptions& options) {
  if (options.steering != nullptr) options.steering->made_for = -1;
  if (choices.OneIn(kMadeForFieldOneIn)) {
    if (const int field = PickField(choices, options); field >= 0) {
      if (options.steering != nullptr) options.steering->made_for = field;
      return GenerateFor(field, choices, options);
    }
  }
  Case c;
  const bool others = options.writer || options.gather || options.convert;
  if (options.decode && IsDecoded(options.layout) &&
      (!others || choices.OneIn(3))) {
    GenerateDecodeProgram(choices, options, c);
    if (choices.OneIn(2)) c.set_schedule(choices.Below(1u << 16));
    c.set_poison(choices.Below(1u << 16));
    if (options.invalid && choices.OneIn(16)) {
      MakeRefused(c, choices);
      RepairCase(c, options);
    }
    Vary(choices, options, c);
    return c;
  }
  Pool& pool = *c.mutable_pool();
  pool = GeneratePool(choices, options);
  if (choices.OneIn(2)) c.set_schedule(choices.Below(1u << 16));
  c.set_poison(choices.Below(1u << 16));
  enum Call { kWrite, kGather, kConvert };
  const auto add = [&](Call call) {
    switch (call) {
      case kWrite:
        if (!options.writer) return;
        *c.add_steps()->mutable_write() = GenerateWrite(choices, pool, options);
        return;
      case kGather:
        if (!options.gather) return;
        *c.add_steps()->mutable_gather() =
            GenerateGather(choices, pool, options);
        return;
      case kConvert:
        if (!options.convert) return;
        *c.add_steps()->mutable_convert() =
            GenerateConvert(choices, pool, options);
    }
  };
  const auto add_patch = [&] {
    Patch& patch = *c.add_steps()->mutable_patch();
    patch.set_slot(choices.Below(pool.page_size() * pool.pages()));
    patch.set_at(PatchedByte(choices, options.layout));
    patch.set_data(std::string(1, static_cast<char>(choices.Pick<int>(
                                      {0x7f, 0x80, 0xff, 0x00, 0x01}))));
  };
  const std::uint32_t program = choices.Below(64);
  if (program < 26) {
    add(kWrite);
  } else if (program < 42) {
    add(kGather);
  } else if (program < 53) {
    add(kConvert);
  } else if (program < 56) {
    add(kWrite);
    add(kWrite);
  } else if (program < 59) {
    add(kWrite);
    add(kGather);
  } else if (program < 61) {
    add(kGather);
    add(kGather);
  } else if (program < 62) {
    add(kWrite);
    add_patch();
    add(kGather);
  } else {
    for (std::uint32_t i = 2 + choices.Below(3); i > 0; --i) {
      add(choices.Pick<Call>({kWrite, kWrite, kGather, kConvert}));
    }
  }
  if (c.steps_size() == 0) {
    const Call any[] = {kWrite, kGather, kConvert};
    const bool enabled[] = {options.writer, options.gather, options.convert};
    std::uint32_t pick = choices.Below(3);
    for (int i = 0; i < 3 && !enabled[pick]; ++i) pick = (pick + 1) % 3;
    add(any[pick]);
  }
  if (options.invalid && choices.OneIn(16)) {
    MakeRefused(c, choices);
    RepairCase(c, options);
  }
  Vary(choices, options, c);
  return c;
}

}  // namespace mlafuzz
