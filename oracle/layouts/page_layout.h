#ifndef MLAFUZZ_ORACLE_LAYOUTS_PAGE_LAYOUT_H_
#define MLAFUZZ_ORACLE_LAYOUTS_PAGE_LAYOUT_H_

#include <cstdint>

#include "absl/types/span.h"

namespace mlafuzz::oracle {

// One page of a paged cache as data: where a token's codes, scales and rope
// lie. Every token has a row; rows come first, one after another. Scales lie in
// the row, or behind all rows of the page, a few bytes a token. Offsets and
// sizes in bytes unless said otherwise.
struct PageLayout {
  enum class Scales { kFp32LittleEndian, kUe8m0 };
  enum class Place { kInRow, kBehindRows };

  const char* name;
  int codes;  // E4M3, one byte each, at the row's start
  int tile;   // codes that share one scale, in order
  Scales scales;
  Place place;
  int scales_at;      // kInRow: of the row; kBehindRows: of the token's entry
  int scale_entry;    // kBehindRows: bytes a token, padding included
  int rope_at;        // of the row
  int rope;           // 16-bit values, never quantised
  int row_bytes;      // all of the row that is the token's
  int page_multiple;  // pages are padded up to a multiple of this

  constexpr int tiles() const { return codes / tile; }
  constexpr int scale_bytes() const { return scales == Scales::kUe8m0 ? 1 : 4; }
  // Bytes of a page of `size` tokens, padding at its end included.
  std::int64_t PageBytes(std::int64_t size) const;

  // From the page's start, of the token in row `row` of a page of `size`.
  // `row_stride`: bytes between rows, 0 for row_bytes; a layout with scales
  // behind its rows has no other.
  std::int64_t RowAt(std::int64_t row, std::int64_t row_stride = 0) const {
    return row * (row_stride == 0 ? row_bytes : row_stride);
  }
  std::int64_t ScaleAt(std::int64_t size, std::int64_t row, int tile,
                       std::int64_t row_stride = 0) const;
  std::int64_t RopeAt(std::int64_t row, int i,
                      std::int64_t row_stride = 0) const {
    return RowAt(row, row_stride) + rope_at + 2 * i;
  }
};

// vLLM's fp8_ds_mla row, 656 bytes: FlashMLA's V32, FlashInfer's DSV3_2 and
// GLM_NSA (csrc/libtorch_stable/cache_kernels.cu of vllm-project/vllm).
extern const PageLayout kRow656;
// The same without its tail, FlashInfer's GLM53_NOPE; over 656-byte rows it is
// read with a row stride of 656 (flashinfer-ai/flashinfer#5075).
extern const PageLayout kRow528;
// DeepSeek-V4, FlashMLA's MODEL1: 448 codes and 64 rope values a token, seven
// UE8M0 scales and a zero byte in the page's footer, pages padded to a multiple
// of 576 (fused_deepseek_v4_qnorm_rope_kv_insert_kernel.cu of
// vllm-project/vllm).
extern const PageLayout kFooter584;
// FlashInfer's DSV4_1: rope is quantised with the rest, 16 scales over groups
// of 32 in the footer.
extern const PageLayout kFooter528;
// The indexer's K cache, 132 bytes a token: codes of the whole page, then an
// fp32 scale for each 128 of them (indexer_k_quant_and_cache of the same
// cache_kernels.cu). 264 bytes, two scales, for heads of 256.
extern const PageLayout kIndexer132;
extern const PageLayout kIndexer264;

// All of the above.
absl::Span<const PageLayout* const> PageLayouts();

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_PAGE_LAYOUT_H_
