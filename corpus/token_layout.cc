#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

// layout, name, codes, tile, scales_at, scale_bytes, rope_at, rope, row_bytes,
// token_bytes, page_multiple, alignment, copied
constexpr TokenLayout kLayouts[] = {
    {FP8_DS_MLA, "row656", 512, 128, 512, 4, 528, 64, 656, 656, 1, 8, false},
    {NOPE_ROW_528, "row528", 512, 128, 512, 4, 528, 0, 528, 528, 1, 8, false},
    {DSV4_FOOTER_584, "footer584", 448, 64, 576, 1, 448, 64, 576, 584, 576, 8,
     false},
    {DSV4_1_FOOTER_528, "footer528", 512, 32, 512, 1, 528, 0, 512, 528, 1, 8,
     false},
    // Pages of an odd number of tokens end at a multiple of 4.
    {INDEXER_132, "indexer132", 128, 128, 128, 4, 132, 0, 128, 132, 1, 4, true},
    {INDEXER_264, "indexer264", 256, 128, 256, 4, 264, 0, 256, 264, 1, 4, true},
};

}  // namespace

const TokenLayout& TokenLayoutOf(Layout layout) {
  for (const TokenLayout& known : kLayouts) {
    if (known.layout == layout) return known;
  }
  return kLayouts[0];
}

absl::Span<const TokenLayout> TokenLayouts() { return kLayouts; }

}  // namespace mlafuzz
