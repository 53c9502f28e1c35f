#include <algorithm>
#include <cstdint>
#include <vector>

#include "corpus/token_layout.h"
#include "properties/generate_for_parts.h"
#include "properties/layout_pool.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

bool ReadsRows(const Gather& gather, bool copied) {
  for (const std::int32_t rows : gather.seq_lens()) {
    if (rows > 0) return true;
  }
  if (gather.seq_lens_size() > 0 || gather.workspace_starts_size() == 0) {
    return false;
  }
  const auto rows = static_cast<std::int32_t>(gather.dst_rows());
  if (!copied) return gather.workspace_starts(0) < rows;
  const int last = gather.workspace_starts_size() - 1;
  for (int i = 0; i < last; ++i) {
    if (gather.workspace_starts(i) <
        std::min(gather.workspace_starts(i + 1), rows)) {
      return true;
    }
  }
  return false;
}

// A gather of at least one row.
Gather& ReadingGather(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  Gather& gather = *c.add_steps()->mutable_gather();
  do {
    gather = GenerateGather(choices, c.pool(), options);
  } while (!ReadsRows(gather, TokenLayoutOf(options.layout).copied));
  return gather;
}

// A gather of rows with codes of all kinds and scales of class `scales`.
void GatherOfRows(Choices& choices, const GeneratorOptions& options, Case& c,
                  Fill::Scales scales) {
  *c.mutable_pool() = GeneratePool(choices, options);
  SetFill(choices, Fill::ROWS, scales, *c.mutable_pool()->mutable_fill());
  ReadingGather(choices, options, c);
}

void ForNopeTail(Choices& choices, const GeneratorOptions& options, Case& c) {
  *c.mutable_pool() = GeneratePool(choices, options);
  ReadingGather(choices, options, c).set_nope(true);
}

// Several requests of one row or two each, one behind the other in dst.
Gather& ShortRequests(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  const std::uint32_t page = c.pool().page_size();
  Gather& gather = *c.add_steps()->mutable_gather();
  const std::uint32_t requests = 2 + choices.Below(choices.OneIn(4) ? 12 : 3);
  const bool copied = TokenLayoutOf(options.layout).copied;
  const bool lens = !copied && choices.OneIn(3);
  const bool firsts = !copied && choices.OneIn(2);
  std::uint32_t columns = 1;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < requests; ++i) {
    const std::uint32_t rows = choices.OneIn(3) ? 2 : 1;
    const std::uint32_t first =
        firsts ? choices.Pick<std::uint32_t>({0, 1, page - 1, page, page + 1})
               : 0;
    gather.add_workspace_starts(static_cast<std::int32_t>(at));
    if (lens) gather.add_seq_lens(static_cast<std::int32_t>(rows));
    if (firsts) gather.add_seq_starts(static_cast<std::int32_t>(first));
    columns = std::max(columns, (first + rows + page - 1) / page);
    at += rows;
  }
  gather.set_dst_rows(at);
  if (copied) gather.add_workspace_starts(static_cast<std::int32_t>(at));
  gather.set_nope(choices.OneIn(2));
  Table& table = *gather.mutable_block_table();
  table.set_rows(requests);
  table.set_columns(columns + (choices.OneIn(3) ? 1 + choices.Below(2) : 0));
  for (std::uint32_t i = 0; i < requests * table.columns(); ++i) {
    table.mutable_pages()->add_values(choices.Below(c.pool().pages()));
  }
  return gather;
}

// More pages than the rows would fill.
void ForPageTasks(Choices& choices, const GeneratorOptions& options, Case& c) {
  Pool& pool = *c.mutable_pool();
  do {
    pool = GeneratePool(choices, options);
  } while (pool.page_size() == 1);
  Gather& gather = ShortRequests(choices, options, c);
  RepairGather(gather, pool, options);
}

// A table that is a view of a wider one, and a row of it that is not the first.
void ForTableRow(Choices& choices, const GeneratorOptions& options, Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = ManyPages(choices, options);
  SetFill(choices, choices.Pick({Fill::ROWS, Fill::RANDOM_BYTES}),
          Fill::ARBITRARY, *pool.mutable_fill());
  Gather& gather = ShortRequests(choices, options, c);
  Table& table = *gather.mutable_block_table();
  table.set_row_stride(table.columns() + 1 + choices.Below(8));
  RepairGather(gather, pool, options);
}

void ForScale(Choices& choices, const GeneratorOptions& options, Case& c) {
  GatherOfRows(choices, options, c,
               choices.Pick({Fill::ARBITRARY, Fill::WIDE}));
}

void ForProduct(Choices& choices, const GeneratorOptions& options, Case& c) {
  if (TokenLayoutOf(options.layout).ue8m0()) {
    // Exact, but for what is subnormal.
    GatherOfRows(choices, options, c, Fill::SPECIAL);
    return;
  }
  GatherOfRows(choices, options, c,
               choices.Pick({Fill::ARBITRARY, Fill::WIDE}));
}

void ForNan(Choices& choices, const GeneratorOptions& options, Case& c) {
  // A row of 512 codes of all kinds holds a NaN but once in fifty.
  Pool& pool = *c.mutable_pool();
  pool = GeneratePool(choices, options);
  Fill& fill = *pool.mutable_fill();
  if (choices.OneIn(2)) {
    fill.Clear();
    fill.set_byte(choices.Pick<std::uint32_t>({0x7f, 0xff}));
  } else {
    SetFill(choices, choices.Pick({Fill::ROWS, Fill::RANDOM_BYTES}),
            static_cast<Fill::Scales>(choices.Below(5)), fill);
  }
  ReadingGather(choices, options, c);
}

void ForCodes(Choices& choices, const GeneratorOptions& options, Case& c) {
  GatherOfRows(
      choices, options, c,
      choices.Pick({Fill::ARBITRARY, Fill::WIDE, Fill::POWERS_OF_TWO}));
}

// The last request starts behind the end of dst, as one without rows may: those
// before it end with dst.
void ForStartsPastEnd(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = GeneratePool(choices, options);
  Gather& gather = *c.add_steps()->mutable_gather();
  const std::uint32_t page = std::min(pool.page_size(), 16u);
  const std::uint32_t rows = 1 + choices.Below(2 * page);
  const std::uint32_t before = choices.OneIn(3) ? 1 + choices.Below(2) : 0;
  const std::uint32_t beyond = 1 + choices.Below(4);
  gather.add_workspace_starts(0);
  for (std::uint32_t i = 0; i < before; ++i) {
    gather.add_workspace_starts(static_cast<std::int32_t>(rows / 2));
  }
  gather.add_workspace_starts(static_cast<std::int32_t>(rows + beyond));
  // Where the end stands there too, it may be past the last row as well.
  if (TokenLayoutOf(options.layout).copied) {
    gather.add_workspace_starts(
        static_cast<std::int32_t>(rows + beyond + choices.Below(2)));
  }
  gather.set_dst_rows(rows);
  gather.set_nope(choices.OneIn(2));
  Table& table = *gather.mutable_block_table();
  table.set_rows(2 + before);
  // Enough for the rows that a kernel would read that does not look.
  table.set_columns((rows + beyond + pool.page_size() - 1) / pool.page_size());
  for (std::uint32_t i = 0; i < table.rows() * table.columns(); ++i) {
    table.mutable_pages()->add_values(choices.Below(pool.pages()));
  }
  RepairGather(gather, pool, options);
}

// Scale bytes 0 and 255, under codes of all kinds.
void ForUe8m0(Choices& choices, const GeneratorOptions& options, Case& c) {
  GatherOfRows(choices, options, c, Fill::SPECIAL);
}

// Rows in a page that begins at no multiple of 16.
void ForCodeLoads(Choices& choices, const GeneratorOptions& options, Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = GeneratePool(choices, options);
  SetFill(choices, Fill::ROWS, Fill::ARBITRARY, *pool.mutable_fill());
  pool.set_offset(16 * choices.Below(3) +
                  choices.Pick<std::uint32_t>({4, 8, 12}));
  pool.set_page_stride(PlainPageStride(pool));
  pool.set_page_stride(pool.page_stride() +
                       (16 - pool.page_stride() % 16) % 16);
  ReadingGather(choices, options, c);
}

// Several rows of dst that lie so far apart that their stride counts as more
// than one tile.
void ForScaleRows(Choices& choices, const GeneratorOptions& options, Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = ManyPages(choices, options);
  SetFill(choices, Fill::ROWS, Fill::ARBITRARY, *pool.mutable_fill());
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  Gather& gather = ShortRequests(choices, options, c);
  gather.set_dst_row_stride(static_cast<std::uint32_t>(
      layout.codes + layout.tile * (1 + static_cast<int>(choices.Below(2)))));
  RepairGather(gather, pool, options);
}

}  // namespace

// gather.table_columns is not among them: entries past the table are the
// caller's duty.
std::vector<FieldRecipe> GatherRecipes() {
  return {{"gather.nope_tail", ForNopeTail},
          {"gather.page_tasks", ForPageTasks},
          {"gather.table_row", ForTableRow},
          {"gather.scale", ForScale},
          {"gather.product", ForProduct},
          {"gather.nan", ForNan},
          {"gather.codes", ForCodes},
          {"gather.starts_past_end", ForStartsPastEnd},
          {"gather.ue8m0_zero", ForUe8m0},
          {"gather.ue8m0_last", ForUe8m0},
          {"gather.code_loads", ForCodeLoads},
          {"gather.scale_rows", ForScaleRows}};
}

}  // namespace mlafuzz
