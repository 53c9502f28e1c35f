#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_MODEL_PARTS_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_MODEL_PARTS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/values.h"

// What several models are made of.
namespace mlafuzz::minimize {

// Widths, and lengths of lists, that faults tend to need: one, two, three, and
// one more than what warps, blocks and splits take.
inline constexpr std::uint32_t kTypicalWidths[] = {1, 2, 3, 33, 65, 129, 513};

// Entries of the stored rows of a table; -1 where it says nothing.
inline std::vector<std::vector<std::int64_t>> Entries(const Table& table,
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

inline std::uint32_t Padding(const Table& table) {
  return table.row_stride() > table.columns()
             ? table.row_stride() - table.columns()
             : 0;
}

// Numbers that a page's may be in its place: the first two, the power of two
// below it, one less.
inline std::vector<std::int64_t> PlainerPages(std::int64_t page) {
  std::vector<std::int64_t> plainer = {0, 1};
  if (page > 2) {
    plainer.push_back(static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(page))));
    plainer.push_back(page - 1);
  }
  return plainer;
}

// [0, 1, half, n - 1] below n, each once.
inline std::vector<std::int32_t> Smaller(std::int32_t n) {
  std::vector<std::int32_t> smaller;
  for (const std::int32_t v : {0, 1, 2, n / 2, n - 1}) {
    if (v >= 0 && v < n &&
        std::find(smaller.begin(), smaller.end(), v) == smaller.end()) {
      smaller.push_back(v);
    }
  }
  return smaller;
}

}  // namespace mlafuzz::minimize

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_MODEL_PARTS_H_
