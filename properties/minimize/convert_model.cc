#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "corpus/values.h"
#include "properties/minimize/model_parts.h"
#include "properties/minimize/models.h"

namespace mlafuzz {

bool ToModel(const Convert& convert, const Pool& pool, ConvertModel* model) {
  *model = ConvertModel();
  const Indices& indices = convert.token_indices();
  const Table& table = convert.block_table();
  if (std::uint64_t{indices.rows()} * indices.width() > 1u << 14 ||
      std::uint64_t{table.rows()} * table.columns() > 1u << 14) {
    return false;
  }
  const std::int64_t ids = std::max<std::int64_t>(
      0, std::int64_t{indices.rows()} + convert.surplus_requests());
  const std::vector<std::int64_t> requests =
      ExpandIntegers(convert.request_ids(), ids, table.rows());
  const std::vector<std::int32_t> tokens = ExpandIndices(indices);
  for (std::uint32_t r = 0; r < indices.rows(); ++r) {
    ConvertModel::Row row;
    row.request = r < requests.size() ? requests[r] : 0;
    row.tokens.assign(tokens.begin() + r * indices.width(),
                      tokens.begin() + (r + 1) * indices.width());
    if (static_cast<int>(r) < convert.prefill_request_ids_size()) {
      row.prefill = convert.prefill_request_ids(static_cast<int>(r));
    }
    model->rows.push_back(std::move(row));
  }
  for (std::size_t r = indices.rows(); r < requests.size(); ++r) {
    model->more_requests.push_back(requests[r]);
  }
  model->surplus = convert.surplus_requests();
  model->table = minimize::Entries(table, pool);
  model->table_rows = table.rows();
  model->columns = table.columns();
  model->padding = minimize::Padding(table);
  model->expanded = table.expanded();
  model->page_size = pool.page_size();
  model->rest = convert;
  model->rest.clear_request_ids();
  model->rest.clear_block_table();
  model->workspace = convert.prefill_request_ids_size() > 0 ||
                     convert.prefill_workspace_starts_size() > 0;
  model->rest.clear_prefill_request_ids();
  Indices& rest = *model->rest.mutable_token_indices();
  rest.clear_valid();
  rest.clear_limit();
  rest.clear_seed();
  rest.clear_place();
  rest.clear_pad();
  rest.clear_set();
  return true;
}

void FromModel(const ConvertModel& model, Convert* convert) {
  *convert = model.rest;
  Indices& indices = *convert->mutable_token_indices();
  const std::size_t width =
      model.rows.empty() ? indices.width() : model.rows[0].tokens.size();
  // Strides keep their padding.
  if (indices.row_stride() > indices.width()) {
    indices.set_row_stride(indices.row_stride() - indices.width() +
                           static_cast<std::uint32_t>(width));
  }
  if (convert->out_row_stride() > indices.width()) {
    convert->set_out_row_stride(convert->out_row_stride() - indices.width() +
                                static_cast<std::uint32_t>(width));
  }
  indices.set_rows(static_cast<std::uint32_t>(model.rows.size()));
  indices.set_width(static_cast<std::uint32_t>(width));
  // All -1 or all 0 first, whichever leaves less to say.
  std::size_t zeros = 0, minus_ones = 0;
  for (const ConvertModel::Row& row : model.rows) {
    zeros += std::count(row.tokens.begin(), row.tokens.end(), 0);
    minus_ones += std::count(row.tokens.begin(), row.tokens.end(), -1);
  }
  const std::int32_t base = zeros > minus_ones ? 0 : -1;
  if (base == 0) {
    indices.set_valid(static_cast<std::uint32_t>(width));
    indices.set_limit(1);
  }
  for (std::size_t r = 0; r < model.rows.size(); ++r) {
    convert->mutable_request_ids()->add_values(model.rows[r].request);
    if (model.workspace) {
      convert->add_prefill_request_ids(model.rows[r].prefill);
    }
    for (std::size_t i = 0; i < width; ++i) {
      if (model.rows[r].tokens[i] == base) continue;
      SetIndex& set = *indices.add_set();
      set.set_at(static_cast<std::uint32_t>(r * width + i));
      set.set_value(model.rows[r].tokens[i]);
    }
  }
  for (const std::int64_t id : model.more_requests) {
    convert->mutable_request_ids()->add_values(id);
  }
  Table& table = *convert->mutable_block_table();
  table.set_rows(model.table_rows);
  table.set_columns(model.columns);
  table.set_expanded(model.expanded);
  if (model.padding > 0) table.set_row_stride(model.columns + model.padding);
  const std::size_t stored =
      model.expanded ? std::min(model.table_rows, 1u) : model.table_rows;
  for (std::size_t r = 0; r < stored; ++r) {
    for (std::uint32_t c = 0; c < model.columns; ++c) {
      const bool known = r < model.table.size() && c < model.table[r].size();
      table.mutable_pages()->add_values(known ? model.table[r][c] : -1);
    }
  }
}

std::vector<ConvertModel> ReductionsOf(const ConvertModel& model) {
  std::vector<ConvertModel> all;
  const auto add = [&](const auto& edit) {
    ConvertModel m = model;
    edit(m);
    all.push_back(std::move(m));
  };
  add([](ConvertModel&) {});  // written out
  const std::size_t n = model.rows.size();
  const std::size_t width = n > 0 ? model.rows[0].tokens.size() : 0;
  // Rows.
  add([](ConvertModel& m) { m.rows.clear(); });
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    add([&](ConvertModel& m) { m.rows = {model.rows[i]}; });
  }
  for (std::size_t run = n / 2; run > 0; run /= 2) {
    for (std::size_t at = 0; at + run <= n; at += run) {
      add([&](ConvertModel& m) {
        m.rows.erase(m.rows.begin() + at, m.rows.begin() + at + run);
      });
    }
  }
  // Columns of the indices: the first few or the last, one alone, then runs
  // away.
  const auto keep_columns = [&](const std::vector<std::size_t>& keep) {
    add([&](ConvertModel& m) {
      for (std::size_t r = 0; r < n; ++r) {
        m.rows[r].tokens.clear();
        for (const std::size_t i : keep) {
          m.rows[r].tokens.push_back(model.rows[r].tokens[i]);
        }
      }
    });
  };
  for (const std::size_t few : minimize::kTypicalWidths) {
    if (few >= width) break;
    for (const std::size_t first : {std::size_t{0}, width - few}) {
      std::vector<std::size_t> keep(few);
      std::iota(keep.begin(), keep.end(), first);
      keep_columns(keep);
    }
  }
  for (std::size_t i = 0; width > 1 && i < std::min<std::size_t>(width, 16);
       ++i) {
    keep_columns({i});
  }
  for (std::size_t run = width / 2; run > 0; run /= 2) {
    for (std::size_t at = 0; at + run <= width && at / run < 32; at += run) {
      std::vector<std::size_t> keep;
      for (std::size_t i = 0; i < width; ++i) {
        if (i < at || i >= at + run) keep.push_back(i);
      }
      keep_columns(keep);
    }
  }
  // The table: one row, fewer rows, fewer columns.
  if (model.table_rows > 1) {
    add([](ConvertModel& m) {
      for (ConvertModel::Row& row : m.rows) {
        if (static_cast<std::size_t>(row.request) < m.table.size()) {
          m.table[0] = m.table[static_cast<std::size_t>(row.request)];
        }
        row.request = 0;
      }
      m.table_rows = 1;
    });
    add([](ConvertModel& m) { m.table_rows = 2; });
    add([](ConvertModel& m) { --m.table_rows; });
  }
  for (std::uint32_t columns = 0; columns < std::min(model.columns, 8u);
       ++columns) {
    add([&](ConvertModel& m) { m.columns = columns; });
  }
  if (model.columns > 0) add([](ConvertModel& m) { --m.columns; });
  // Columns away in front, with the tokens behind them moved along: all but
  // one, half, one.
  for (const std::uint32_t fewer :
       {model.columns - std::min(model.columns, 1u), model.columns / 2, 1u}) {
    if (fewer == 0 || fewer >= model.columns) continue;
    add([&](ConvertModel& m) {
      const auto by = static_cast<std::int32_t>(fewer * model.page_size);
      for (std::vector<std::int64_t>& row : m.table) {
        row.erase(
            row.begin(),
            row.begin() + std::min<std::ptrdiff_t>(
                              fewer, static_cast<std::ptrdiff_t>(row.size())));
      }
      for (ConvertModel::Row& row : m.rows) {
        for (std::int32_t& token : row.tokens) {
          if (token >= by) token -= by;
        }
      }
      m.columns -= fewer;
    });
  }
  if (model.padding > 0) {
    add([](ConvertModel& m) { m.padding = 0; });
    add([](ConvertModel& m) { m.padding = 1; });
  }
  if (model.expanded) add([](ConvertModel& m) { m.expanded = false; });
  add([](ConvertModel& m) {
    for (ConvertModel::Row& row : m.rows) row.request = 0;
  });
  add([](ConvertModel& m) {
    for (std::vector<std::int64_t>& row : m.table) {
      std::fill(row.begin(), row.end(), 0);
    }
  });
  for (std::size_t r = 0; r < std::min<std::size_t>(model.table.size(), 4);
       ++r) {
    for (std::size_t c = 0; c < std::min<std::size_t>(model.table[r].size(), 8);
         ++c) {
      for (const std::int64_t to : minimize::PlainerPages(model.table[r][c])) {
        if (model.table[r][c] == to) continue;
        add([&](ConvertModel& m) { m.table[r][c] = to; });
      }
    }
  }
  // The workspace: none, one request, plainer starts.
  if (model.workspace) {
    add([](ConvertModel& m) {
      m.workspace = false;
      m.rest.clear_prefill_workspace_starts();
    });
    add([](ConvertModel& m) {
      for (ConvertModel::Row& row : m.rows) row.prefill = -1;
    });
    const auto& starts = model.rest.prefill_workspace_starts();
    if (starts.size() > 1) {
      add([](ConvertModel& m) {
        m.rest.mutable_prefill_workspace_starts()->Truncate(1);
        for (ConvertModel::Row& row : m.rows) {
          row.prefill = std::min(row.prefill, 0);
        }
      });
      add([](ConvertModel& m) {
        m.rest.mutable_prefill_workspace_starts()->RemoveLast();
      });
    }
    for (int i = 0; i < starts.size(); ++i) {
      for (const std::int32_t to : {0, 1, starts.Get(i) / 2}) {
        if (to == starts.Get(i)) continue;
        add([&](ConvertModel& m) {
          m.rest.set_prefill_workspace_starts(i, to);
        });
      }
    }
    for (std::size_t r = 0; r < std::min<std::size_t>(n, 4); ++r) {
      for (const std::int32_t to : {-1, 0}) {
        if (to == model.rows[r].prefill) continue;
        add([&](ConvertModel& m) { m.rows[r].prefill = to; });
      }
    }
  }
  // Token numbers.
  for (const std::int32_t to : {0, -1}) {
    add([&](ConvertModel& m) {
      for (ConvertModel::Row& row : m.rows) {
        std::fill(row.tokens.begin(), row.tokens.end(), to);
      }
    });
  }
  for (std::size_t r = 0; r < std::min<std::size_t>(n, 4); ++r) {
    for (std::size_t i = 0; i < std::min<std::size_t>(width, 16); ++i) {
      const std::int32_t token = model.rows[r].tokens[i];
      const std::int32_t past =
          static_cast<std::int32_t>(model.columns * model.page_size);
      for (const std::int32_t to :
           {0, 1, static_cast<std::int32_t>(model.page_size), past, past + 1,
            past + static_cast<std::int32_t>(model.page_size), token / 2, -1,
            -2}) {
        if (to == token) continue;
        add([&](ConvertModel& m) { m.rows[r].tokens[i] = to; });
      }
    }
  }
  return all;
}

}  // namespace mlafuzz
