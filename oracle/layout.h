#ifndef MLAFUZZ_ORACLE_LAYOUT_H_
#define MLAFUZZ_ORACLE_LAYOUT_H_

#include <cstdint>

#include "corpus/types.pb.h"

namespace mlafuzz::oracle {

// One token's bytes in a cache layout as data: those in its row, the first
// `row_part`, then those behind all rows of its page. Offsets and sizes in
// bytes unless said otherwise.
struct RowLayout {
  enum class Scales { kFp32LittleEndian, kUe8m0 };
  enum class Part { kCodes, kScales, kRope, kPadding };

  int codes_at;
  int codes;  // E4M3, one byte each: the latent values
  int tile;   // values that share one scale, in order
  Scales scale_kind;
  int scales_at;
  int scale_bytes;
  int rope_at;
  int rope;       // sixteen-bit values, never quantised
  int row_bytes;  // all of them
  int row_part;
  bool copied;  // a gather copies codes and scales instead of values

  constexpr int tiles() const { return codes / tile; }
  constexpr int scales_end() const { return scales_at + tiles() * scale_bytes; }
  constexpr int rope_end() const { return rope_at + 2 * rope; }
  // Columns of what a gather fills.
  constexpr int columns() const { return codes + rope; }
  // What byte `byte` of a token belongs to.
  constexpr Part PartOf(std::int64_t byte) const {
    if (byte >= codes_at && byte < codes_at + codes) return Part::kCodes;
    if (byte >= scales_at && byte < scales_end()) return Part::kScales;
    if (byte >= rope_at && byte < rope_end()) return Part::kRope;
    return Part::kPadding;
  }
};

// vLLM's fp8_ds_mla row: 512 E4M3 codes, four fp32 tile scales, 64 rope values.
inline constexpr RowLayout kFp8DsMla = {
    .codes_at = 0,
    .codes = 512,
    .tile = 128,
    .scale_kind = RowLayout::Scales::kFp32LittleEndian,
    .scales_at = 512,
    .scale_bytes = 4,
    .rope_at = 528,
    .rope = 64,
    .row_bytes = 656,
    .row_part = 656,
    .copied = false,
};

// The bytes of `layout`, from its row of oracle/layouts/page_layout.h;
// LAYOUT_UNSPECIFIED is FP8_DS_MLA.
const RowLayout& LayoutOf(Layout layout);

// Columns of the dense tensors: the latent part, and latent with rope.
inline constexpr int kLatentColumns = 512;
inline constexpr int kDenseColumns = 576;

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUT_H_
