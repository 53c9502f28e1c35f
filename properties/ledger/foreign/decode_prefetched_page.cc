// A pipelined loop over tiles attends to the tile that it has just fetched for
// the next step: the first tile of a split is skipped.
//
// Source: lightseekorg/tokenspeed#522 (review: the split-k loop loads
// start_n + BLOCK_N where it needs the current page).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class PrefetchedPage : public wild::RightDecode {
 protected:
  Range Part(const MlafuzzDecode& args, int64_t width, int64_t split) override {
    Range lanes = RightDecode::Part(args, width, split);
    // A split of one tile has nothing to fetch.
    if (lanes.end - lanes.begin > wild::kLanes) lanes.begin += wild::kLanes;
    return lanes;
  }
};

}  // namespace

WILD_EXPORT_DECODE(PrefetchedPage);
