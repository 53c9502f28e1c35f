#include "oracle/layout.h"

#include "oracle/layouts/page_layout.h"

namespace mlafuzz::oracle {

// The parts of the row follow one another without a gap.
static_assert(kFp8DsMla.scales_at == kFp8DsMla.codes_at + kFp8DsMla.codes);
static_assert(kFp8DsMla.rope_at ==
              kFp8DsMla.scales_at + kFp8DsMla.tiles() * kFp8DsMla.scale_bytes);
static_assert(kFp8DsMla.row_bytes == kFp8DsMla.rope_end());
static_assert(kFp8DsMla.codes == kLatentColumns);
static_assert(kFp8DsMla.codes + kFp8DsMla.rope == kDenseColumns);

namespace {

RowLayout FromPage(const PageLayout& page, bool copied) {
  const bool behind = page.place == PageLayout::Place::kBehindRows;
  return {.codes_at = 0,
          .codes = page.codes,
          .tile = page.tile,
          .scale_kind = page.scales == PageLayout::Scales::kUe8m0
                            ? RowLayout::Scales::kUe8m0
                            : RowLayout::Scales::kFp32LittleEndian,
          .scales_at = (behind ? page.row_bytes : 0) + page.scales_at,
          .scale_bytes = page.scale_bytes(),
          .rope_at = page.rope_at,
          .rope = page.rope,
          .row_bytes = page.row_bytes + (behind ? page.scale_entry : 0),
          .row_part = page.row_bytes,
          .copied = copied};
}

}  // namespace

const RowLayout& LayoutOf(Layout layout) {
  static const RowLayout kNope = FromPage(kRow528, /*copied=*/false);
  static const RowLayout kDsv4 = FromPage(kFooter584, /*copied=*/false);
  static const RowLayout kDsv41 = FromPage(kFooter528, /*copied=*/false);
  static const RowLayout kIndexer = FromPage(kIndexer132, /*copied=*/true);
  static const RowLayout kWide = FromPage(kIndexer264, /*copied=*/true);
  switch (layout) {
    case NOPE_ROW_528:
      return kNope;
    case DSV4_FOOTER_584:
      return kDsv4;
    case DSV4_1_FOOTER_528:
      return kDsv41;
    case INDEXER_132:
      return kIndexer;
    case INDEXER_264:
      return kWide;
    case FP8_DS_MLA:
    default:
      return kFp8DsMla;
  }
}

}  // namespace mlafuzz::oracle
