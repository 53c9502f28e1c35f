// Reads tiles of a page's length as if each lay in one page. That holds where
// the first position is a page's first; else the end of each tile comes from
// behind the page instead of the next one.
//
// Source: tile-ai/TileOPs#1268 (review; paged prefill of an fp8 cache: the fast
// path asks for page_size % block_n == 0 and not for an aligned start).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_gather.h"

namespace {

class TileWithinPage : public wild::RightGather {
 protected:
  void Request(const MlafuzzGather& args, int64_t request,
               int64_t length) override {
    const int64_t tile = args.cache->shape[1];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t first = First(args, request) + i / tile * tile;
      const int64_t page_size = args.cache->shape[1];
      const int64_t page =
          *mlafuzz::At<int32_t>(args.block_table, request, first / page_size);
      Row(args,
          mlafuzz::At<uint8_t>(args.cache, page, first % page_size + i % tile),
          Start(args, request) + i);
    }
  }
};

}  // namespace

WILD_EXPORT_GATHER(TileWithinPage);
