#ifndef MLAFUZZ_ORACLE_LAYOUTS_INDEXER_GATHER_H_
#define MLAFUZZ_ORACLE_LAYOUTS_INDEXER_GATHER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "oracle/layouts/page_layout.h"

namespace mlafuzz::oracle {

// Rows of an indexer K cache, copied out as they are: vLLM's
// cp_gather_indexer_k_quant_cache.
struct IndexerGather {
  const PageLayout* layout;  // kIndexer132, kIndexer264
  std::int64_t page_size;
  std::int64_t page_stride;
  absl::Span<const std::uint8_t> cache;
  absl::Span<const std::int32_t> table;  // [requests, table_width], dense
  std::int64_t table_width;
  // [requests + 1]: request q owns output rows starts[q] to starts[q + 1]. Rows
  // of no request keep what they held; an end past `rows` means `rows`.
  absl::Span<const std::int32_t> starts;
  std::int64_t rows;
  std::int64_t dst_stride;  // bytes between rows of codes
};

// Where vLLM's own kernel does otherwise (recorded on an H200).
struct IndexerGatherFaults {
  // Codes are read 16 bytes at a time from the 16-byte boundary at or below the
  // true address, which a page stride that is no multiple of 16 moves.
  bool codes_from_boundary = false;
  // The scales of row t lie where codes of row t lie, counted in scales: at
  // t * dst_stride / 128, not at t.
  bool scales_by_code_stride = false;
};

// `codes` and `scales` hold what was there before; scales are raw bytes,
// tiles() * 4 a row. False, with both as they were, where nothing follows: a
// row's page lies outside of table or cache, a row or its scales outside of the
// outputs, or two requests own a row.
bool GatherIndexer(const IndexerGather& gather, IndexerGatherFaults faults,
                   absl::Span<std::uint8_t> codes,
                   absl::Span<std::uint8_t> scales);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_INDEXER_GATHER_H_
