#include "properties/minimize/models.h"

#include <algorithm>
#include <utility>

#include "corpus/values.h"

namespace mlafuzz {
namespace {

// Entries of the stored rows of a table; -1 where it says nothing.
std::vector<std::vector<std::int64_t>> Entries(const Table& table,
                                               const Pool& pool) {
  const std::uint64_t rows =
      table.expanded() ? std::min(table.rows(), 1u) : table.rows();
  const std::uint64_t total = rows * table.columns();
  const std::uint64_t given =
      std::min(total, std::max<std::uint64_t>(table.pages().count(),
                                              table.pages().values_size()));
  std::vector<std::int64_t> all =
      ExpandIntegers(table.pages(), given, pool.pages());
  all.resize(total, -1);
  std::vector<std::vector<std::int64_t>> entries(rows);
  for (std::uint64_t r = 0; r < rows; ++r) {
    entries[r].assign(all.begin() + r * table.columns(),
                      all.begin() + (r + 1) * table.columns());
  }
  return entries;
}

std::uint32_t Padding(const Table& table) {
  return table.row_stride() > table.columns()
             ? table.row_stride() - table.columns()
             : 0;
}

// [0, 1, half, n - 1] below n, each once.
std::vector<std::int32_t> Smaller(std::int32_t n) {
  std::vector<std::int32_t> smaller;
  for (const std::int32_t v : {0, 1, 2, n / 2, n - 1}) {
    if (v >= 0 && v < n &&
        std::find(smaller.begin(), smaller.end(), v) == smaller.end()) {
      smaller.push_back(v);
    }
  }
  return smaller;
}

}  // namespace

// ---- Gather

bool ToModel(const Gather& gather, const Pool& pool, GatherModel* model) {
  *model = GatherModel();
  const int n = gather.workspace_starts_size();
  const Table& table = gather.block_table();
  if (static_cast<int>(table.rows()) != n ||
      (gather.seq_lens_size() != 0 && gather.seq_lens_size() != n) ||
      (gather.seq_starts_size() != 0 && gather.seq_starts_size() != n) ||
      std::uint64_t{table.rows()} * table.columns() > 1u << 16) {
    return false;
  }
  model->lens = gather.seq_lens_size() > 0;
  model->firsts = gather.seq_starts_size() > 0;
  model->columns = table.columns();
  model->padding = Padding(table);
  model->expanded = table.expanded();
  model->page_size = pool.page_size();
  const std::vector<std::vector<std::int64_t>> entries = Entries(table, pool);
  std::int64_t at = 0;
  for (int i = 0; i < n; ++i) {
    GatherModel::Request r;
    const std::int64_t start = gather.workspace_starts(i);
    if (start < at) return false;  // starts that do not ascend
    const std::int64_t end = i + 1 < n ? gather.workspace_starts(i + 1)
                                       : std::int64_t{gather.dst_rows()};
    const std::int64_t rows = model->lens ? gather.seq_lens(i) : end - start;
    if (rows < 0 || start + rows > end) return false;
    r.gap = static_cast<std::int32_t>(start - at);
    r.rows = static_cast<std::int32_t>(rows);
    r.first = model->firsts ? gather.seq_starts(i) : 0;
    r.pages = entries[model->expanded ? 0 : i];
    at = start + rows;
    model->requests.push_back(std::move(r));
  }
  model->rows_behind = static_cast<std::int32_t>(gather.dst_rows() - at);
  model->rest = gather;
  model->rest.clear_workspace_starts();
  model->rest.clear_seq_lens();
  model->rest.clear_seq_starts();
  model->rest.clear_block_table();
  return true;
}

void Straighten(Gather* gather) {
  const int n = gather->workspace_starts_size();
  const std::int64_t end = gather->dst_rows();
  std::vector<std::int64_t> rows;
  for (int i = 0; i < n; ++i) {
    std::int64_t length = 0;
    if (gather->seq_lens_size() > 0) {
      length = i < gather->seq_lens_size() ? gather->seq_lens(i) : 0;
    } else {
      length = (i + 1 < n ? std::min<std::int64_t>(
                                gather->workspace_starts(i + 1), end)
                          : end) -
               std::min<std::int64_t>(gather->workspace_starts(i), end);
    }
    rows.push_back(std::clamp<std::int64_t>(length, 0, end));
  }
  std::int64_t at = 0;
  for (int i = 0; i < n; ++i) {
    gather->set_workspace_starts(i, static_cast<std::int32_t>(at));
    if (i < gather->seq_lens_size()) {
      gather->set_seq_lens(
          i, static_cast<std::int32_t>(rows[static_cast<std::size_t>(i)]));
    }
    at += rows[static_cast<std::size_t>(i)];
  }
  gather->set_dst_rows(static_cast<std::uint32_t>(at));
}

void DropRequest(int request, Gather* gather) {
  const auto drop = [request](auto& list) {
    if (request < list.size()) list.erase(list.begin() + request);
  };
  drop(*gather->mutable_workspace_starts());
  drop(*gather->mutable_seq_lens());
  drop(*gather->mutable_seq_starts());
  Table& table = *gather->mutable_block_table();
  if (table.rows() == 0) return;
  table.set_rows(table.rows() - 1);
  auto& pages = *table.mutable_pages()->mutable_values();
  const int columns = static_cast<int>(table.columns());
  const int from = std::min(request * columns, pages.size());
  if (table.expanded()) return;
  pages.erase(pages.begin() + from,
              pages.begin() + std::min(from + columns, pages.size()));
}

void FromModel(const GatherModel& model, Gather* gather) {
  *gather = model.rest;
  Table& table = *gather->mutable_block_table();
  table.set_rows(static_cast<std::uint32_t>(model.requests.size()));
  table.set_columns(model.columns);
  table.set_expanded(model.expanded);
  if (model.padding > 0) table.set_row_stride(model.columns + model.padding);
  std::int32_t at = 0;
  for (std::size_t i = 0; i < model.requests.size(); ++i) {
    const GatherModel::Request& r = model.requests[i];
    // Without given lengths, rows of nobody exist only in front of the first.
    if (model.lens || i == 0) at += r.gap;
    gather->add_workspace_starts(at);
    if (model.lens) gather->add_seq_lens(r.rows);
    if (model.firsts) gather->add_seq_starts(r.first);
    at += r.rows;
    if (model.expanded && i > 0) continue;
    for (std::uint32_t c = 0; c < model.columns; ++c) {
      table.mutable_pages()->add_values(c < r.pages.size() ? r.pages[c] : -1);
    }
  }
  if (model.lens || model.requests.empty()) at += model.rows_behind;
  gather->set_dst_rows(static_cast<std::uint32_t>(at));
}

std::vector<GatherModel> ReductionsOf(const GatherModel& model) {
  std::vector<GatherModel> all;
  const auto add = [&](const auto& edit) {
    GatherModel m = model;
    edit(m);
    all.push_back(std::move(m));
  };
  const std::size_t n = model.requests.size();
  // Whole requests: one alone, two alone, runs away, one away.
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    add([&](GatherModel& m) { m.requests = {model.requests[i]}; });
  }
  for (std::size_t i = 0; n > 2 && i + 1 < n; ++i) {
    add([&](GatherModel& m) {
      m.requests = {model.requests[i], model.requests[i + 1]};
    });
  }
  for (std::size_t run = n / 2; run > 0; run /= 2) {
    for (std::size_t at = 0; at + run <= n; at += run) {
      add([&](GatherModel& m) {
        m.requests.erase(m.requests.begin() + at,
                         m.requests.begin() + at + run);
      });
    }
  }
  // Two requests on two pages as one that crosses into the second.
  for (std::size_t i = 0; i + 1 < n && model.page_size > 1; ++i) {
    add([&](GatherModel& m) {
      GatherModel::Request both;
      both.rows = 2;
      both.first = static_cast<std::int32_t>(model.page_size - 1);
      both.pages.assign(2, 0);
      m.requests.erase(m.requests.begin() + i + 1);
      m.requests[i] = both;
      m.firsts = true;
      m.columns = std::max(m.columns, 2u);
    });
  }
  add([](GatherModel& m) {
    for (GatherModel::Request& r : m.requests) r.gap = 0;
    m.rows_behind = 0;
  });
  for (std::size_t i = 0; i < n; ++i) {
    if (model.requests[i].gap > 0) {
      add([&](GatherModel& m) { m.requests[i].gap = 0; });
      add([&](GatherModel& m) { m.requests[i].gap = 1; });
    }
  }
  if (model.rows_behind > 0) {
    add([](GatherModel& m) { m.rows_behind = 0; });
    add([](GatherModel& m) { m.rows_behind = 1; });
  }
  if (model.lens) add([](GatherModel& m) { m.lens = false; });
  // Rows: of all, then of one.
  add([](GatherModel& m) {
    for (GatherModel::Request& r : m.requests) r.rows = std::min(r.rows, 1);
  });
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::int32_t rows : Smaller(model.requests[i].rows)) {
      add([&](GatherModel& m) { m.requests[i].rows = rows; });
    }
    // Fewer rows from a first token nearer to the page's end.
    if (model.firsts && model.requests[i].rows > 1) {
      add([&](GatherModel& m) {
        GatherModel::Request& r = m.requests[i];
        const std::int64_t end = r.first + r.rows;
        const std::int64_t boundary =
            (end - 1) / model.page_size * model.page_size;
        if (boundary > r.first) {
          r.first = static_cast<std::int32_t>(boundary - 1);
          r.rows = 2;
        }
      });
      add([&](GatherModel& m) {
        ++m.requests[i].first;
        --m.requests[i].rows;
      });
    }
  }
  if (model.firsts) add([](GatherModel& m) { m.firsts = false; });
  for (std::size_t i = 0; i < n && model.firsts; ++i) {
    const std::int32_t first = model.requests[i].first;
    for (const std::int32_t to : Smaller(first)) {
      add([&](GatherModel& m) { m.requests[i].first = to; });
    }
    if (first >= model.page_size) {
      add([&](GatherModel& m) {
        m.requests[i].first =
            static_cast<std::int32_t>(first % model.page_size);
      });
      // The same with the table moved along, so that the same pages are read.
      add([&](GatherModel& m) {
        GatherModel::Request& r = m.requests[i];
        const std::size_t skip = std::min<std::size_t>(
            static_cast<std::size_t>(first / model.page_size), r.pages.size());
        r.pages.erase(r.pages.begin(),
                      r.pages.begin() + static_cast<std::ptrdiff_t>(skip));
        r.first = static_cast<std::int32_t>(first % model.page_size);
      });
    }
  }
  // The table: as narrow as the requests need, then by one.
  std::int64_t needed = 0;
  for (const GatherModel::Request& r : model.requests) {
    if (r.rows == 0) continue;
    const std::int64_t first = model.firsts ? r.first : 0;
    needed = std::max(needed, (first + r.rows - 1) / model.page_size + 1);
  }
  if (needed < model.columns) {
    add([&](GatherModel& m) {
      m.columns = static_cast<std::uint32_t>(needed);
    });
  }
  // Rows two apart, each with a page of its own.
  if (model.padding > 0) {
    add([&](GatherModel& m) {
      m.columns = 1;
      m.padding = 1;
      m.firsts = false;
      std::int64_t page = 0;
      for (GatherModel::Request& r : m.requests) {
        r.rows = std::min(r.rows, 1);
        r.pages = {page++};
      }
    });
  }
  if (needed < model.columns && model.padding > 1) {
    add([&](GatherModel& m) {
      m.columns = static_cast<std::uint32_t>(needed);
      m.padding = 1;
    });
  }
  if (model.columns > 0) add([](GatherModel& m) { --m.columns; });
  if (model.padding > 0) {
    add([](GatherModel& m) { m.padding = 0; });
    add([](GatherModel& m) { m.padding = 1; });
  }
  if (model.expanded) add([](GatherModel& m) { m.expanded = false; });
  // Page numbers.
  add([](GatherModel& m) {
    for (GatherModel::Request& r : m.requests) {
      std::fill(r.pages.begin(), r.pages.end(), 0);
    }
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 8); ++i) {
    for (std::size_t c = 0;
         c < std::min<std::size_t>(model.requests[i].pages.size(), 8); ++c) {
      const std::int64_t page = model.requests[i].pages[c];
      for (const std::int64_t to :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}}) {
        if (page == to) continue;
        add([&](GatherModel& m) { m.requests[i].pages[c] = to; });
      }
    }
  }
  return all;
}

// ---- Index conversion

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
    model->rows.push_back(std::move(row));
  }
  for (std::size_t r = indices.rows(); r < requests.size(); ++r) {
    model->more_requests.push_back(requests[r]);
  }
  model->surplus = convert.surplus_requests();
  model->table = Entries(table, pool);
  model->table_rows = table.rows();
  model->columns = table.columns();
  model->padding = Padding(table);
  model->expanded = table.expanded();
  model->page_size = pool.page_size();
  model->rest = convert;
  model->rest.clear_request_ids();
  model->rest.clear_block_table();
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
  // Columns of the indices: one alone, then runs away.
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
  for (std::size_t i = 0; width > 1 && i < std::min<std::size_t>(width, 64);
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
      for (const std::int64_t to : {std::int64_t{0}, std::int64_t{1}}) {
        if (model.table[r][c] == to) continue;
        add([&](ConvertModel& m) { m.table[r][c] = to; });
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
           {0, 1, static_cast<std::int32_t>(model.page_size), past, token / 2,
            -1, -2}) {
        if (to == token) continue;
        add([&](ConvertModel& m) { m.rows[r].tokens[i] = to; });
      }
    }
  }
  return all;
}

// ---- Decode

bool ToModel(const Decode& decode, DecodeModel* model) {
  constexpr std::uint64_t kMostLanes = 4096;
  constexpr std::uint64_t kMostValues = 16 * 576;
  *model = DecodeModel();
  const Indices& indices = decode.indices();
  const std::uint32_t n = decode.queries();
  const std::uint32_t width = indices.width();
  const std::uint32_t heads = decode.heads();
  if (indices.rows() != n || std::uint64_t{n} * width > kMostLanes ||
      (decode.lengths_size() != 0 &&
       decode.lengths_size() != static_cast<int>(n)) ||
      (decode.sink_bits_size() != 0 &&
       decode.sink_bits_size() != static_cast<int>(heads))) {
    return false;
  }
  const std::vector<std::int32_t> lanes = ExpandIndices(indices);
  const std::uint64_t columns = 512 + std::uint64_t{decode.pe_dim()};
  const std::uint64_t count = std::uint64_t{n} * heads * columns;
  std::vector<std::uint16_t> bits;
  if (count <= kMostValues) bits = ExpandValues(decode.q(), BF16, count);
  for (std::uint32_t i = 0; i < n; ++i) {
    DecodeModel::Query query;
    query.lanes.assign(lanes.begin() + std::uint64_t{i} * width,
                       lanes.begin() + std::uint64_t{i + 1} * width);
    if (decode.lengths_size() > 0) {
      query.length = decode.lengths(static_cast<int>(i));
    }
    for (std::uint32_t h = 0; h < heads && !bits.empty(); ++h) {
      const auto first =
          bits.begin() + (std::uint64_t{i} * heads + h) * columns;
      query.q.emplace_back(first, first + columns);
    }
    model->queries.push_back(std::move(query));
  }
  model->sinks.assign(decode.sink_bits().begin(), decode.sink_bits().end());
  model->lengths = decode.lengths_size() > 0;
  model->heads = heads;
  model->width = width;
  model->topk = decode.declared_topk();
  model->rest = decode;
  return true;
}

void FromModel(const DecodeModel& model, bool written_out, Decode* decode) {
  const std::uint32_t stride = decode->indices().row_stride();
  *decode = model.rest;
  const std::uint32_t n = static_cast<std::uint32_t>(model.queries.size());
  decode->set_queries(n);
  decode->set_heads(model.heads);
  decode->set_declared_topk(model.topk);
  decode->clear_lengths();
  decode->clear_sink_bits();
  for (const std::uint32_t bits : model.sinks) decode->add_sink_bits(bits);
  Indices& indices = *decode->mutable_indices();
  indices.Clear();
  indices.set_rows(n);
  indices.set_width(model.width);
  if (stride > model.width) indices.set_row_stride(stride);
  // Most lanes name slot 0, or none.
  std::uint64_t zeros = 0, masked = 0;
  for (const DecodeModel::Query& query : model.queries) {
    for (const std::int32_t lane : query.lanes) {
      zeros += lane == 0;
      masked += lane == -1;
    }
  }
  const std::int32_t plain = zeros > masked ? 0 : -1;
  if (plain == 0) {
    indices.set_valid(model.width);
    indices.set_limit(1);
  }
  std::uint32_t at = 0;
  for (const DecodeModel::Query& query : model.queries) {
    if (model.lengths) decode->add_lengths(query.length);
    for (const std::int32_t lane : query.lanes) {
      if (lane != plain) {
        SetIndex& set = *indices.add_set();
        set.set_at(at);
        set.set_value(lane);
      }
      ++at;
    }
  }
  if (!written_out) return;
  Values& q = *decode->mutable_q();
  q.Clear();
  std::uint32_t value = 0;
  for (const DecodeModel::Query& query : model.queries) {
    for (const std::vector<std::uint16_t>& head : query.q) {
      for (const std::uint16_t bits : head) {
        if (bits != 0) {
          SetBits& set = *q.add_set();
          set.set_at(value);
          set.set_bits(bits);
        }
        ++value;
      }
    }
  }
}

namespace {

// Without lanes [first, end) of every row; what counts in lanes moves along.
DecodeModel WithoutLanes(const DecodeModel& model, std::uint32_t first,
                         std::uint32_t end) {
  DecodeModel smaller = model;
  smaller.width -= end - first;
  const auto moved = [&](std::int64_t at) {
    return at - std::clamp<std::int64_t>(at - first, 0, end - first);
  };
  for (DecodeModel::Query& query : smaller.queries) {
    query.lanes.erase(query.lanes.begin() + first, query.lanes.begin() + end);
    query.length = static_cast<std::int32_t>(moved(query.length));
  }
  if (model.topk > 0) {
    smaller.topk = std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(moved(model.topk)));
  }
  return smaller;
}

}  // namespace

std::vector<DecodeModel> ReductionsOf(const DecodeModel& model) {
  std::vector<DecodeModel> all;
  const std::size_t n = model.queries.size();
  // One query or head alone, then without a run of them.
  for (std::size_t i = 0; i < n && n > 1 && i < 16; ++i) {
    DecodeModel one = model;
    one.queries = {model.queries[i]};
    all.push_back(std::move(one));
  }
  for (std::size_t run = n / 2; run > 0; run /= 2) {
    for (std::size_t at = 0; at + run <= n && at < 16 * run; at += run) {
      DecodeModel fewer = model;
      fewer.queries.erase(fewer.queries.begin() + at,
                          fewer.queries.begin() + at + run);
      all.push_back(std::move(fewer));
    }
  }
  for (std::uint32_t h = 0; h < model.heads && model.heads > 1 && h < 16; ++h) {
    DecodeModel one = model;
    one.heads = 1;
    if (!model.sinks.empty()) one.sinks = {model.sinks[h]};
    for (DecodeModel::Query& query : one.queries) {
      if (!query.q.empty()) query.q = {query.q[h]};
    }
    all.push_back(std::move(one));
  }
  // Runs of lanes.
  for (std::uint32_t run = model.width - model.width / 2;
       run > 0 && model.width > 1; run = run == 1 ? 0 : (run + 1) / 2) {
    for (std::uint32_t at = 0; at < model.width; at += run) {
      const std::uint32_t end = std::min(at + run, model.width);
      if (end - at == model.width) continue;
      all.push_back(WithoutLanes(model, at, end));
    }
  }
  // Runs of keys masked.
  for (std::uint32_t run = model.width; run > 0;
       run = run == 1 ? 0 : (run + 1) / 2) {
    for (std::uint32_t at = 0; at < model.width; at += run) {
      DecodeModel masked = model;
      bool any = false;
      for (DecodeModel::Query& query : masked.queries) {
        for (std::uint32_t l = at; l < std::min(at + run, model.width); ++l) {
          any |= query.lanes[l] >= 0;
          query.lanes[l] = std::min(query.lanes[l], -1);
        }
      }
      if (any) all.push_back(std::move(masked));
    }
  }
  // Plainer lanes, all at once: -1 for other negatives and for what lies past
  // the pool, then slot 0 as well.
  for (const std::int32_t most : {1 << 20, 0}) {
    DecodeModel plain = model;
    bool any = false;
    for (DecodeModel::Query& query : plain.queries) {
      for (std::int32_t& lane : query.lanes) {
        const std::int32_t plainer =
            lane > 1 << 20 ? -1 : std::clamp(lane, -1, most);
        any |= plainer != lane;
        lane = plainer;
      }
    }
    if (any) all.push_back(std::move(plain));
  }
  for (std::size_t i = 0; i < n; ++i) {
    int tried = 0;
    for (std::uint32_t l = 0; l < model.width && tried < 16; ++l) {
      const std::int32_t lane = model.queries[i].lanes[l];
      for (const std::int32_t plainer : {0, 1, -1}) {
        if (lane < -1 ? plainer >= 0 : plainer < 0 || plainer >= lane) continue;
        DecodeModel other = model;
        other.queries[i].lanes[l] = plainer;
        all.push_back(std::move(other));
        ++tried;
      }
    }
    if (i >= 4) break;
  }
  if (model.lengths) {
    for (std::size_t i = 0; i < n && i < 8; ++i) {
      for (const std::int32_t length : Smaller(model.queries[i].length)) {
        DecodeModel other = model;
        other.queries[i].length = length;
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

}  // namespace mlafuzz
