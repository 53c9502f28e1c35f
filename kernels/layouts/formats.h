// Where things stand in a page of the layouts beside the 656-byte row, for
// kernels and their host checks. The oracle has its own description (oracle/):
// nothing is shared on purpose. Bytes, counted from a row's begin, or, where
// scales lie behind all rows, from the token's entry there.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_FORMATS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_FORMATS_H_

#include "corpus/types.pb.h"

namespace mlafuzz::kernels {

// FlashInfer's GLM53_NOPE.
struct NopeRow528 {
  static constexpr Layout kLayout = NOPE_ROW_528;
  static constexpr int kCodes = 512;
  static constexpr int kTile = 128;
  static constexpr int kRope = 0;
  static constexpr int kRowBytes = 528;
  static constexpr int kEntryBytes = 0;  // scales stand in the row
  static constexpr int kScaleAt = 512;
  static constexpr bool kUe8m0 = false;
  static constexpr int kAlignment = 8;
};

// DeepSeek-V4: rope follows the codes; the eighth byte of an entry is 0.
struct Dsv4Footer584 {
  static constexpr Layout kLayout = DSV4_FOOTER_584;
  static constexpr int kCodes = 448;
  static constexpr int kTile = 64;
  static constexpr int kRope = 64;
  static constexpr int kRowBytes = 576;
  static constexpr int kEntryBytes = 8;
  static constexpr int kScaleAt = 0;
  static constexpr bool kUe8m0 = true;
  static constexpr int kAlignment = 8;
};

// FlashInfer's DSV4_1.
struct Dsv41Footer528 {
  static constexpr Layout kLayout = DSV4_1_FOOTER_528;
  static constexpr int kCodes = 512;
  static constexpr int kTile = 32;
  static constexpr int kRope = 0;
  static constexpr int kRowBytes = 512;
  static constexpr int kEntryBytes = 16;
  static constexpr int kScaleAt = 0;
  static constexpr bool kUe8m0 = true;
  static constexpr int kAlignment = 8;
};

// The indexer's K cache, for heads of 128 and of 256.
template <int kHead, Layout kId>
struct IndexerRow {
  static constexpr Layout kLayout = kId;
  static constexpr int kCodes = kHead;
  static constexpr int kTile = 128;
  static constexpr int kRope = 0;
  static constexpr int kRowBytes = kHead;
  static constexpr int kEntryBytes = kHead / 32;
  static constexpr int kScaleAt = 0;
  static constexpr bool kUe8m0 = false;
  // A page of an odd number of tokens ends at no multiple of 8.
  static constexpr int kAlignment = 4;
};
using Indexer132 = IndexerRow<128, INDEXER_132>;
using Indexer264 = IndexerRow<256, INDEXER_264>;

}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_FORMATS_H_
