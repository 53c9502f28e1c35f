#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "properties/minimize/model_parts.h"
#include "properties/minimize/models.h"

namespace mlafuzz {

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
  model->padding = minimize::Padding(table);
  model->expanded = table.expanded();
  model->page_size = pool.page_size();
  const std::vector<std::vector<std::int64_t>> entries =
      minimize::Entries(table, pool);
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
    for (const std::int32_t rows : minimize::Smaller(model.requests[i].rows)) {
      add([&](GatherModel& m) { m.requests[i].rows = rows; });
    }
    const GatherModel::Request& request = model.requests[i];
    // The last row alone.
    if (request.rows > 1) {
      add([&](GatherModel& m) {
        m.requests[i].first += request.rows - 1;
        m.requests[i].rows = 1;
        m.firsts = true;
      });
    }
    // Without its first page.
    const std::int64_t on_first =
        model.page_size - request.first % model.page_size;
    if (request.first < model.page_size && request.rows > on_first &&
        !request.pages.empty()) {
      add([&](GatherModel& m) {
        GatherModel::Request& r = m.requests[i];
        r.pages.erase(r.pages.begin());
        r.rows -= static_cast<std::int32_t>(on_first);
        r.first = 0;
      });
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
    for (const std::int32_t to : minimize::Smaller(first)) {
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
      std::vector<std::int64_t> plainer = minimize::PlainerPages(page);
      plainer.push_back(-1);
      for (const std::int64_t to : plainer) {
        if (page == to) continue;
        add([&](GatherModel& m) { m.requests[i].pages[c] = to; });
      }
    }
  }
  return all;
}

}  // namespace mlafuzz
