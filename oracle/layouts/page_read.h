#ifndef MLAFUZZ_ORACLE_LAYOUTS_PAGE_READ_H_
#define MLAFUZZ_ORACLE_LAYOUTS_PAGE_READ_H_

#include <cstdint>

#include "absl/types/span.h"
#include "oracle/layouts/page_layout.h"
#include "oracle/layouts/ue8m0.h"

namespace mlafuzz::oracle {

// Tokens taken out of a paged cache of any layout, dequantised.
struct PageRead {
  const PageLayout* layout;
  std::int64_t page_size;       // tokens
  std::int64_t page_stride;     // bytes between pages
  std::int64_t row_stride = 0;  // bytes between rows, 0: layout->row_bytes
  Ue8m0Reading ue8m0;           // of layouts with such scales
  absl::Span<const std::uint8_t> pool;
  absl::Span<const std::int64_t> slots;
};

// values [slots, layout->codes + layout->rope] in bf16: code times scale in
// fp32, rounded to nearest even with subnormals kept (any NaN as 0x7FFF), then
// the rope bit for bit. That is vLLM's gather of 656-byte rows and, since a
// code times a power of two is exact, FlashMLA's reading of the footer layout.
// False, with `values` as they were, if a slot lies outside of the pool, if
// `values` is too short, or if a row stride is given for a layout that has
// none: of that nothing follows.
bool ReadPages(const PageRead& read, absl::Span<std::uint16_t> values);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_PAGE_READ_H_
