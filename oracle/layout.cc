#include "oracle/layout.h"

namespace mlafuzz::oracle {

// The parts of the row follow one another without a gap.
static_assert(kFp8DsMla.scales_at == kFp8DsMla.codes_at + kFp8DsMla.codes);
static_assert(kFp8DsMla.rope_at ==
              kFp8DsMla.scales_at + kFp8DsMla.tiles() * kFp8DsMla.scale_bytes);
static_assert(kFp8DsMla.row_bytes == kFp8DsMla.rope_end());
static_assert(kFp8DsMla.codes == kLatentColumns);
static_assert(kFp8DsMla.codes + kFp8DsMla.rope == kDenseColumns);

const RowLayout& LayoutOf(Layout layout) {
  switch (layout) {
    case FP8_DS_MLA:
    default:
      return kFp8DsMla;
  }
}

}  // namespace mlafuzz::oracle
