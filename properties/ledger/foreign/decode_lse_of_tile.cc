// The epilogue stores an LSE for each of a tile's 64 head lanes, whether there
// are so many heads or not: into the rows that follow, and past the last.
//
// Source: lightseekorg/tokenspeed#212 (review: LSE stores of the m64 path are
// gated by the tile and not by H).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class LseOfTile : public wild::RightDecode {
 protected:
  void StoreLse(const MlafuzzDecode& args, int64_t query, int64_t head,
                float lse, size_t splits, bool any) override {
    constexpr int64_t kHeadLanes = 64;
    const int64_t heads = args.q->shape[1];
    RightDecode::StoreLse(args, query, head, lse, splits, any);
    if (head + 1 < heads) return;
    for (int64_t lane = heads; lane % kHeadLanes != 0; ++lane) {
      *mlafuzz::At<float>(args.lse, query, lane) = -INFINITY;
    }
  }
};

}  // namespace

WILD_EXPORT_DECODE(LseOfTile);
