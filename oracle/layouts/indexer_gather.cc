#include "oracle/layouts/indexer_gather.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mlafuzz::oracle {
namespace {

struct Row {
  std::int64_t row;    // of the output
  std::int64_t codes;  // where they lie in the cache
  std::int64_t scales;
};

// False if any lies outside.
bool PlanRows(const IndexerGather& g, std::vector<Row>* rows) {
  const PageLayout& layout = *g.layout;
  const std::int64_t requests = static_cast<std::int64_t>(g.starts.size()) - 1;
  for (std::int64_t q = 0; q < requests; ++q) {
    const std::int64_t start = g.starts[static_cast<std::size_t>(q)];
    const std::int64_t end = std::min<std::int64_t>(
        g.starts[static_cast<std::size_t>(q + 1)], g.rows);
    for (std::int64_t row = start; row < end; ++row) {
      const std::int64_t column = (row - start) / g.page_size;
      const std::int64_t slot = (row - start) % g.page_size;
      if (row < 0 || column >= g.table_width) return false;
      const std::int64_t page =
          g.table[static_cast<std::size_t>(q * g.table_width + column)];
      const std::int64_t at = page * g.page_stride;
      if (page < 0 || at + layout.PageBytes(g.page_size) >
                          static_cast<std::int64_t>(g.cache.size())) {
        return false;
      }
      rows->push_back({row, at + layout.RowAt(slot),
                       at + layout.ScaleAt(g.page_size, slot, 0)});
    }
  }
  return true;
}

}  // namespace

bool GatherIndexer(const IndexerGather& g, IndexerGatherFaults faults,
                   absl::Span<std::uint8_t> codes,
                   absl::Span<std::uint8_t> scales) {
  std::vector<Row> rows;
  if (!PlanRows(g, &rows)) return false;
  const PageLayout& layout = *g.layout;
  const std::int64_t scale_bytes = layout.tiles() * layout.scale_bytes();
  const auto scales_at = [&](std::int64_t row) {
    return faults.scales_by_code_stride
               ? row * g.dst_stride / layout.tile * layout.scale_bytes()
               : row * scale_bytes;
  };
  std::vector<bool> owned(static_cast<std::size_t>(g.rows));
  for (const Row& row : rows) {
    if (row.row * g.dst_stride + layout.codes >
            static_cast<std::int64_t>(codes.size()) ||
        scales_at(row.row) + scale_bytes >
            static_cast<std::int64_t>(scales.size()) ||
        owned[static_cast<std::size_t>(row.row)]) {
      return false;
    }
    owned[static_cast<std::size_t>(row.row)] = true;
  }
  for (const Row& row : rows) {
    const std::int64_t from =
        faults.codes_from_boundary ? row.codes / 16 * 16 : row.codes;
    std::copy_n(g.cache.begin() + from, layout.codes,
                codes.begin() + row.row * g.dst_stride);
    std::copy_n(g.cache.begin() + row.scales, scale_bytes,
                scales.begin() + scales_at(row.row));
  }
  return true;
}

}  // namespace mlafuzz::oracle
