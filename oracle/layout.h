#ifndef MLAFUZZ_ORACLE_LAYOUT_H_
#define MLAFUZZ_ORACLE_LAYOUT_H_

#include "corpus/types.pb.h"

namespace mlafuzz::oracle {

// One token's row of a cache layout as data. Offsets and sizes in bytes unless
// said otherwise.
struct RowLayout {
  enum class Codes { kE4m3 };
  enum class Scales { kFp32LittleEndian };

  Codes code_kind;
  int codes_at;
  int codes;  // one byte each: the latent values
  int tile;   // values that share one scale, in order
  Scales scale_kind;
  int scales_at;
  int scale_bytes;
  int rope_at;
  int rope;  // sixteen-bit values, never quantised
  int row_bytes;

  constexpr int tiles() const { return codes / tile; }
  constexpr int rope_end() const { return rope_at + 2 * rope; }
};

// vLLM's fp8_ds_mla row: 512 E4M3 codes, four fp32 tile scales, 64 rope values.
inline constexpr RowLayout kFp8DsMla = {
    .code_kind = RowLayout::Codes::kE4m3,
    .codes_at = 0,
    .codes = 512,
    .tile = 128,
    .scale_kind = RowLayout::Scales::kFp32LittleEndian,
    .scales_at = 512,
    .scale_bytes = 4,
    .rope_at = 528,
    .rope = 64,
    .row_bytes = 656,
};

// The row of `layout`; LAYOUT_UNSPECIFIED is FP8_DS_MLA.
const RowLayout& LayoutOf(Layout layout);

// Columns of the dense tensors: the latent part, and latent with rope.
inline constexpr int kLatentColumns = 512;
inline constexpr int kDenseColumns = 576;

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUT_H_
