#ifndef MLAFUZZ_CORPUS_TOKEN_LAYOUT_H_
#define MLAFUZZ_CORPUS_TOKEN_LAYOUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/types.pb.h"

namespace mlafuzz {

// What a case has to know of a cache layout: how many bytes a token takes, and
// the shapes of the tensors beside the pool. Offsets and sizes in bytes unless
// said otherwise, offsets of a token's bytes: those in its row, then those
// behind all rows of its page. The oracle and the kernels have descriptions of
// their own.
struct TokenLayout {
  Layout layout;
  const char* name;  // "indexer132", as in docs/layouts.md
  int codes;         // columns of kv_c; one byte each, from byte 0 on
  int tile;          // codes that share a scale
  int scales_at;
  int scale_bytes;  // 4: fp32, 1: UE8M0
  int rope_at;
  int rope;           // 16-bit values
  int row_bytes;      // those of a token's bytes that lie in its row
  int token_bytes;    // all of them: the cache tensor's last dimension
  int page_multiple;  // a page is padded up to a multiple of this
  int alignment;      // of page 0, of rows and of pages
  bool copied;        // a gather copies codes and scales instead of values

  constexpr int tiles() const { return codes / tile; }
  // Scales lie behind all rows of a page.
  constexpr bool split() const { return row_bytes != token_bytes; }
  constexpr bool ue8m0() const { return scale_bytes == 1; }
  // Columns of what a gather fills.
  constexpr int dst_columns() const { return codes + rope; }
  constexpr DType dst_dtype() const { return copied ? U8 : BF16; }
};

// LAYOUT_UNSPECIFIED, and what is no layout, is FP8_DS_MLA.
const TokenLayout& TokenLayoutOf(Layout layout);

// All of them, FP8_DS_MLA first.
absl::Span<const TokenLayout> TokenLayouts();

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_TOKEN_LAYOUT_H_
