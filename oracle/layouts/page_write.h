#ifndef MLAFUZZ_ORACLE_LAYOUTS_PAGE_WRITE_H_
#define MLAFUZZ_ORACLE_LAYOUTS_PAGE_WRITE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/types.pb.h"
#include "oracle/layouts/page_layout.h"

namespace mlafuzz::oracle {

// Tokens that a writer stores in a paged cache of any layout.
struct PageWrite {
  const PageLayout* layout;
  std::int64_t page_size;    // tokens
  std::int64_t page_stride;  // bytes between pages, may exceed PageBytes
  DType input;               // BF16 or F16
  // [tokens, layout->codes], `stride` elements between rows.
  absl::Span<const std::uint16_t> latent;
  std::int64_t stride;
  // [tokens, layout->rope] as they are stored (rotated where the writer does
  // that), `rope_stride` elements between rows. Empty if the layout has none.
  absl::Span<const std::uint16_t> rope;
  std::int64_t rope_stride;
  std::int64_t tokens;
  // [tokens or more]; what is more is not used.
  absl::Span<const std::int64_t> slots;
};

// What a writer of this contract leaves in `pool`, which holds what was there
// before. Of the contract: the rules of scales and codes (oracle/quantise.h),
// and which slots it skips. Padding of a token's footer entry is written 0
// (vLLM's insert); padding of pages is kept. False, with the pool as it was,
// where nothing follows: a slot that is not skipped lies outside of the pool,
// the contract does not say which are skipped, or its scales are no powers of
// two and the layout has no room for others.
bool WritePages(const WriterContract& contract, const PageWrite& write,
                absl::Span<std::uint8_t> pool);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_PAGE_WRITE_H_
