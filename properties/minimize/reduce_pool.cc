#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "properties/minimize/model_parts.h"
#include "properties/minimize/models.h"
#include "properties/minimize/reduce.h"

namespace mlafuzz::minimize {
namespace {

// A number in pages of `from` rows as the same page and row, or last row, of
// pages of `to`.
std::int64_t Moved(std::int64_t at, std::int64_t from, std::int64_t to) {
  if (at < 0) return at;
  const std::int64_t row = at % from;
  return at / from * to + (row + 1 == from ? to - 1 : std::min(row, to - 1));
}

// Pages of `size` rows, with all that counts in pages moved along; with as many
// bytes between them as there were, or none.
void Repage(Case& c, std::int64_t size, bool keep_padding) {
  const std::int64_t old = c.pool().page_size();
  const auto move = [&](auto value) {
    return static_cast<decltype(value)>(Moved(value, old, size));
  };
  c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(size));
  if (keep_padding) {
    const Pool& p = c.pool();
    const std::int64_t bytes = p.row_bytes() != 0 ? p.row_bytes() : 656;
    const std::int64_t row = p.row_stride() != 0 ? p.row_stride() : bytes;
    const std::int64_t stride =
        static_cast<std::int64_t>(p.page_stride()) - (old - size) * row;
    // Of layouts of other rows pages stay as far apart as they are.
    const bool known = p.layout() == FP8_DS_MLA || p.layout() == 0;
    if (known && stride > 0) {
      c.mutable_pool()->set_page_stride(static_cast<std::uint64_t>(stride));
    }
  } else {
    c.mutable_pool()->clear_page_stride();
  }
  for (Patch& patch : *c.mutable_pool()->mutable_patches()) {
    patch.set_slot(move(patch.slot()));
  }
  for (Step& step : *c.mutable_steps()) {
    if (step.has_write()) {
      for (std::int64_t& slot :
           *step.mutable_write()->mutable_slots()->mutable_values()) {
        slot = move(slot);
      }
    } else if (step.has_gather()) {
      for (std::int32_t& first : *step.mutable_gather()->mutable_seq_starts()) {
        first = move(first);
      }
    } else if (step.has_convert()) {
      Indices& indices = *step.mutable_convert()->mutable_token_indices();
      for (SetIndex& set : *indices.mutable_set()) {
        set.set_value(move(set.value()));
      }
    } else if (step.has_decode()) {
      Indices& indices = *step.mutable_decode()->mutable_indices();
      for (SetIndex& set : *indices.mutable_set()) {
        set.set_value(move(set.value()));
      }
    }
  }
}

// The table of a gather for pages of one row: of every token that may be read,
// the slot that it has.
void Flatten(const Pool& pool, Gather& gather) {
  constexpr std::uint64_t kMostEntries = 1024;
  Table& table = *gather.mutable_block_table();
  std::int64_t needed = gather.dst_rows();
  std::int64_t first = 0;
  for (const std::int32_t start : gather.seq_starts()) {
    first = std::max<std::int64_t>(first, start);
  }
  needed = std::min<std::int64_t>(
      needed + first, std::int64_t{table.columns()} * pool.page_size());
  if (table.rows() * static_cast<std::uint64_t>(needed) > kMostEntries) return;
  const std::vector<std::vector<std::int64_t>> entries = Entries(table, pool);
  const std::uint32_t padding = Padding(table);
  table.mutable_pages()->Clear();
  for (const std::vector<std::int64_t>& row : entries) {
    for (std::int64_t token = 0; token < needed; ++token) {
      const std::int64_t page =
          row[static_cast<std::size_t>(token / pool.page_size())];
      table.mutable_pages()->add_values(
          page < 0 ? page : page * pool.page_size() + token % pool.page_size());
    }
  }
  table.set_columns(static_cast<std::uint32_t>(needed));
  table.clear_row_stride();
  if (padding > 0) table.set_row_stride(table.columns() + padding);
}

// The same of an index conversion: of the tokens that are named.
void Flatten(const Pool& pool, Convert& convert) {
  ConvertModel model;
  if (!ToModel(convert, pool, &model) || model.expanded) return;
  const std::vector<std::vector<std::int64_t>> old = model.table;
  for (std::vector<std::int64_t>& row : model.table) row.clear();
  std::size_t columns = 0;
  for (ConvertModel::Row& row : model.rows) {
    const auto request = static_cast<std::size_t>(row.request);
    if (row.request < 0 || request >= old.size()) return;
    for (std::int32_t& token : row.tokens) {
      const std::int64_t block = token / model.page_size;
      if (token < 0) continue;
      if (block >= std::int64_t{model.columns}) return;
      const std::int64_t page = old[request][static_cast<std::size_t>(block)];
      const std::int64_t slot =
          page < 0 ? page : page * model.page_size + token % model.page_size;
      token = static_cast<std::int32_t>(model.table[request].size());
      model.table[request].push_back(slot);
      columns = std::max(columns, model.table[request].size());
    }
  }
  for (std::vector<std::int64_t>& row : model.table) row.resize(columns, 0);
  model.columns = static_cast<std::uint32_t>(columns);
  FromModel(model, &convert);
}

// The same slots in pages of one row each.
void FlattenCase(Case& c) {
  Pool& pool = *c.mutable_pool();
  const std::uint64_t slots = std::uint64_t{pool.page_size()} * pool.pages();
  if (slots > UINT32_MAX) return;
  for (Step& step : *c.mutable_steps()) {
    if (step.has_gather()) Flatten(pool, *step.mutable_gather());
    if (step.has_convert()) Flatten(pool, *step.mutable_convert());
  }
  pool.set_page_size(1);
  pool.set_pages(static_cast<std::uint32_t>(slots));
  pool.clear_page_stride();
}

// What a gather of one request reads of many pages in one page that has all of
// their rows. Of several it is no way down: each has less to lose then.
void Merge(Case& c) {
  Pool& pool = *c.mutable_pool();
  std::uint32_t columns = 0;
  for (Step& step : *c.mutable_steps()) {
    if (!step.has_gather()) continue;
    Table& table = *step.mutable_gather()->mutable_block_table();
    if (table.rows() != 1) return;
    columns = std::max(columns, table.columns());
    if (table.columns() < 2) continue;
    const bool padded = table.row_stride() > table.columns();
    table.set_columns(1);
    table.clear_row_stride();
    if (padded) table.set_row_stride(2);
    table.mutable_pages()->Clear();
    for (std::uint32_t r = 0; r < table.rows(); ++r) {
      table.mutable_pages()->add_values(0);
    }
  }
  constexpr std::uint32_t kMostColumns = 64;
  if (columns < 2 || columns > kMostColumns) return;
  pool.set_page_size(pool.page_size() * columns);
  pool.set_pages(1);
  pool.clear_page_stride();
}

}  // namespace

bool DropSteps(Search& search) {
  bool progress = false;
  // One alone, then without one.
  for (int i = 0;
       i < search.best().steps_size() && search.best().steps_size() > 1; ++i) {
    if (search.TryEdit([&](Case& c) {
          c.mutable_steps()->SwapElements(0, i);
          while (c.steps_size() > 1) c.mutable_steps()->RemoveLast();
        })) {
      return true;
    }
  }
  for (int i = search.best().steps_size() - 1;
       i >= 0 && search.best().steps_size() > 1; --i) {
    progress |= search.TryEdit(
        [&](Case& c) { c.mutable_steps()->DeleteSubrange(i, 1); });
  }
  return progress;
}

bool PlainPool(Search& search) {
  bool progress = false;
  progress |= search.TryEdit([](Case& c) {
    c.clear_schedule();
    c.clear_poison();
  });
  progress |= search.TryEdit([](Case& c) { c.clear_schedule(); });
  progress |= search.TryEdit([](Case& c) { c.clear_poison(); });
  progress |= search.TryEdit([](Case& c) {
    Pool& p = *c.mutable_pool();
    p.clear_page_stride();
    p.clear_row_stride();
    p.clear_offset();
  });
  progress |=
      search.TryEdit([](Case& c) { c.mutable_pool()->clear_page_stride(); });
  progress |= search.TryEdit([](Case& c) {
    c.mutable_pool()->clear_row_stride();
    c.mutable_pool()->clear_page_stride();
  });
  progress |=
      search.TryEdit([](Case& c) { c.mutable_pool()->clear_row_stride(); });
  progress |=
      search.TryEdit([](Case& c) { c.mutable_pool()->clear_row_bytes(); });
  progress |= search.TryEdit([](Case& c) { c.mutable_pool()->clear_offset(); });
  progress |=
      search.TryEdit([](Case& c) { c.mutable_pool()->clear_patches(); });
  for (int i = search.best().pool().patches_size() - 1; i >= 0; --i) {
    progress |= search.TryEdit([&](Case& c) {
      c.mutable_pool()->mutable_patches()->DeleteSubrange(i, 1);
    });
  }
  return progress;
}

// What the rows hold.
bool PlainFill(Search& search) {
  bool progress = false;
  // 0, 1, then 0x38: codes of 1.0 under scales with a full mantissa.
  for (const std::uint32_t byte : {0x00, 0x01, 0x38, 0x7f, 0x80, 0xff}) {
    if (search.TryEdit([&](Case& c) {
          c.mutable_pool()->clear_fill();
          c.mutable_pool()->mutable_fill()->set_byte(byte);
        })) {
      progress = true;
      break;
    }
  }
  // One row that differs from all others in one byte: its first rope byte, or
  // its first code under a scale that shows it.
  if (search.best().pool().fill().kind() != Fill::BYTE) {
    const std::uint64_t slots =
        std::uint64_t{search.best().pool().page_size()} *
        search.best().pool().pages();
    for (std::uint64_t slot = 0; slot < std::min<std::uint64_t>(slots, 16);
         ++slot) {
      for (const bool rope : {true, false}) {
        progress |= search.TryEdit([&](Case& c) {
          Pool& pool = *c.mutable_pool();
          pool.clear_fill();
          pool.mutable_fill()->set_byte(rope ? 0x00 : 0x38);
          pool.clear_patches();
          Patch& patch = *pool.add_patches();
          patch.set_slot(slot);
          patch.set_at(rope ? 528 : 0);
          patch.set_data("\x01");
        });
      }
    }
  }
  if (search.best().pool().fill().kind() != Fill::BYTE) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      progress |= search.TryEdit([&](Case& c) {
        Fill& fill = *c.mutable_pool()->mutable_fill();
        fill.set_kind(Fill::ROWS);
        fill.set_seed(seed);
      });
      progress |= search.TryEdit(
          [&](Case& c) { c.mutable_pool()->mutable_fill()->set_seed(seed); });
    }
  }
  return progress;
}

// Pages of one row, where rows that are all alike hide which of them is read,
// and bytes between pages are NaN by chance.
bool OneRowPages(Search& search) {
  if (search.best().pool().page_size() < 2) return false;
  const auto differing = [](Case& c, std::uint64_t seed) {
    c.mutable_pool()->clear_patches();
    Fill& fill = *c.mutable_pool()->mutable_fill();
    fill.clear_byte();
    fill.set_kind(Fill::FINITE_ROWS);
    fill.set_seed(seed);
    c.set_poison(seed);
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    if (search.TryEdit([&](Case& c) {
          FlattenCase(c);
          differing(c, seed);
        })) {
      return true;
    }
    for (const bool keep_padding : {false, true}) {
      if (search.TryEdit([&](Case& c) {
            Repage(c, 1, keep_padding);
            differing(c, seed);
          })) {
        return true;
      }
    }
  }
  // Little enough between pages that a row looked for there ends in the next
  // page.
  const Pool& pool = search.best().pool();
  if (pool.page_stride() == 0) return false;
  const std::uint64_t row = pool.row_stride() != 0  ? pool.row_stride()
                            : pool.row_bytes() != 0 ? pool.row_bytes()
                                                    : 656;
  for (const std::uint64_t gap : {16, 128, 512}) {
    for (const bool other_rows : {false, true}) {
      if (search.TryEdit([&](Case& c) {
            Repage(c, 1, /*keep_padding=*/true);
            c.mutable_pool()->set_page_stride(row + gap);
            if (other_rows) differing(c, 0);
          })) {
        return true;
      }
    }
  }
  return false;
}

bool SmallerPool(Search& search) {
  bool progress = false;
  progress |= search.Lower(
      search.best().pool().pages(), 1, [](Case& c, std::uint64_t v) {
        c.mutable_pool()->set_pages(static_cast<std::uint32_t>(v));
      });
  progress |= search.Lower(
      search.best().pool().page_size(), 1, [](Case& c, std::uint64_t v) {
        c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(v));
      });
  for (const bool keep_padding : {false, true}) {
    if (keep_padding && search.best().pool().page_stride() == 0) break;
    progress |= search.Lower(
        search.best().pool().page_size(), 1, [&](Case& c, std::uint64_t v) {
          Repage(c, static_cast<std::int64_t>(v), keep_padding);
        });
  }
  progress |= search.TryEdit(Merge);
  // The same slots in pages of one row each.
  if (search.best().pool().page_size() > 1) {
    progress |= search.TryEdit(FlattenCase);
  }
  progress |= OneRowPages(search);
  // Padding as small as alignment lets it be.
  const Pool& p = search.best().pool();
  const std::uint64_t row = p.row_bytes() != 0 ? p.row_bytes() : 656;
  const std::uint64_t stride = p.row_stride() != 0 ? p.row_stride() : row;
  if (p.row_stride() > row) {
    progress |= search.TryEdit([&](Case& c) {
      c.mutable_pool()->set_row_stride(static_cast<std::uint32_t>(row + 8));
    });
  }
  if (p.page_stride() > stride * p.page_size()) {
    progress |= search.TryEdit([&](Case& c) {
      c.mutable_pool()->set_page_stride(stride * p.page_size() + 8);
    });
  }
  for (const std::uint32_t offset : {4u, 8u}) {
    if (p.offset() <= offset) break;
    progress |=
        search.TryEdit([&](Case& c) { c.mutable_pool()->set_offset(offset); });
  }
  return progress;
}

bool ReducePatch(Search& search, int step) {
  bool progress = false;
  const auto patch = [&](Case& c) -> Patch& {
    return *c.mutable_steps(step)->mutable_patch();
  };
  progress |= search.TryEdit([&](Case& c) { patch(c).clear_slot(); });
  progress |= search.TryEdit([&](Case& c) { patch(c).clear_at(); });
  progress |= search.TryEdit([&](Case& c) {
    std::string& data = *patch(c).mutable_data();
    if (data.size() > 1) data.resize(data.size() / 2);
  });
  return progress;
}

}  // namespace mlafuzz::minimize
