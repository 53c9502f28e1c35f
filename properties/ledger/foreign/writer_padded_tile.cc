// The number of rows to write is that of the input padded to tiles of 32 rows:
// the padding, zeros, follows the last token into the page.
//
// Source: tenstorrent/tt-mlir#7998 (fill_cache writes all padded tiles, the
// last one over rows that belong to earlier tokens).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_writer.h"

namespace {

class PaddedTile : public wild::RightWriter {
 protected:
  void Finish(const MlafuzzWrite& args) override {
    constexpr int64_t kTileRows = 32;
    const int64_t tokens = args.slot_mapping->shape[0];
    if (tokens == 0) return;
    const int64_t last = *mlafuzz::At<int64_t>(args.slot_mapping, tokens - 1);
    if (last < 0) return;
    const int64_t page_size = args.cache->shape[1];
    const int64_t padding = (kTileRows - tokens % kTileRows) % kTileRows;
    for (int64_t i = 1; i <= padding; ++i) {
      if (last % page_size + i >= page_size) break;
      std::memset(mlafuzz::CacheRow(args.cache, last + i), 0,
                  wild::kRopeAt + 2 * wild::kRope);
    }
  }
};

}  // namespace

WILD_EXPORT_WRITER(PaddedTile);
