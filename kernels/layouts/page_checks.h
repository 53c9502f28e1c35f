#ifndef MLAFUZZ_KERNELS_LAYOUTS_PAGE_CHECKS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_PAGE_CHECKS_H_

#include <cstdint>
#include <string>

#include "kernels/target_set.h"

namespace mlafuzz {

// What host checks have to know of a layout of kernels/layouts/formats.h.
struct PageShape {
  Layout layout;
  int codes;  // columns of kv_c
  int rope;   // columns of k_pe; 0: there must be none
  int tiles;
  int row_bytes;
  int entry_bytes;  // behind all rows, a token; 0: all stands in the row
  int alignment;    // of the cache's pages and rows

  int token_bytes() const { return row_bytes + entry_bytes; }
};

template <class Format>
PageShape ShapeOf() {
  return {Format::kLayout,   Format::kCodes,
          Format::kRope,     Format::kCodes / Format::kTile,
          Format::kRowBytes, Format::kEntryBytes,
          Format::kAlignment};
}

// Each returns an empty string, or the reason for refusing in words with the
// numbers, first fault first.

// Refuses: another layout; kv_c not bf16 or fp16, of other columns than the
// layout's codes; k_pe of another dtype or of other columns than the layout's
// rope; a cache of other bytes a token; fewer source rows than slots; kv_c rows
// off 16 bytes, k_pe rows off 4, cache rows off the layout's alignment; pages
// that overlap, rows too where the layout's rows may lie apart.
std::string WhyRefusePageWrite(const PageShape& shape, const WriteArgs& args);

// Refuses: another layout; dst not bf16, not as wide as codes and rope, rows
// off 16 bytes or overlapping; a cache of other bytes a token or off its
// alignment; starts, lengths and table that disagree about the number of
// requests.
std::string WhyRefusePageGather(const PageShape& shape, const GatherArgs& args);

// Refuses: another layout; codes not uint8, not as wide as the layout's, rows
// off 4 bytes or overlapping; scales not float32, missing or of other rows than
// the codes; a cache as above; a table whose rows are not one less than the
// starts; lengths or first tokens, which it does not take.
std::string WhyRefuseIndexerGather(const PageShape& shape,
                                   const GatherArgs& args);

// Of a gather of bytes. Refuses: another layout; dst not uint8, not as wide as
// a token, rows overlapping; a cache of other bytes a token; starts, lengths
// and table that disagree about the number of requests. Bytes may stand
// anywhere.
std::string WhyRefuseByteGather(Layout layout, int token_bytes,
                                const GatherArgs& args);

// Of a gather of codes under one scale. Refuses: dst not bf16, not 576 columns
// wide, rows off 16 bytes or overlapping; a cache off 8 bytes; starts, lengths
// and table that disagree; where `checks_rows`, rows of other than 576 bytes,
// which are another label's: 656 of them are codes, scales and rope.
std::string WhyRefuseOneScaleGather(const GatherArgs& args, bool checks_rows);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_PAGE_CHECKS_H_
