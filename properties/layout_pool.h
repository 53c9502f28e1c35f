#ifndef MLAFUZZ_PROPERTIES_LAYOUT_POOL_H_
#define MLAFUZZ_PROPERTIES_LAYOUT_POOL_H_

#include <cstdint>

#include "corpus/case.pb.h"
#include "corpus/token_layout.h"

namespace mlafuzz {

// What generators and edits of cases have to know of pools of each layout.

// FP8_DS_MLA is the plain one, which a case leaves out.
inline void SetLayout(Layout layout, Pool& pool) {
  if (layout == FP8_DS_MLA) {
    pool.clear_layout();
  } else {
    pool.set_layout(layout);
  }
}

// Bytes between pages where nothing is said: those of a pool of this layout,
// page size and row stride.
inline std::uint64_t PlainPageStride(const Pool& pool) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto token = static_cast<std::uint64_t>(
      pool.row_bytes() != 0 ? static_cast<int>(pool.row_bytes())
                            : layout.token_bytes);
  const std::uint64_t row =
      !layout.split() && pool.row_stride() != 0 ? pool.row_stride() : token;
  const auto multiple = static_cast<std::uint64_t>(layout.page_multiple);
  return (row * pool.page_size() + multiple - 1) / multiple * multiple;
}

// The writers of this layout pass over slots outside of the pool, and say which
// of several rows for one slot stands (FlashInfer's DSV4_1).
inline bool TakesAnySlot(Layout layout) { return layout == DSV4_1_FOOTER_528; }

// Rows of this layout have the 512 values that a decode attends to.
inline bool IsDecoded(Layout layout) {
  const TokenLayout& token = TokenLayoutOf(layout);
  return !token.copied && (token.codes == 512 || token.dst_columns() == 512);
}

// Columns that a query may have beyond 512, for rope that is no value.
inline std::uint32_t RopeBeyond(Layout layout) {
  const TokenLayout& token = TokenLayoutOf(layout);
  return token.codes == 512 ? static_cast<std::uint32_t>(token.rope) : 0;
}

// A decode of this layout may have a second cache (DeepSeek-V4).
inline bool HasExtra(Layout layout) { return layout == DSV4_FOOTER_584; }

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_LAYOUT_POOL_H_
