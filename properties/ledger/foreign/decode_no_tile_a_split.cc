// Tiles of a split are tiles / splits, rounded down: with more splits than
// tiles none of them does any, and the sums of the row are 0 / 0.
//
// Source: ROCm/rocMLIR#2371 (merged; split-KV iterations of a short sequence
// with a large split_kv are zero).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class NoTileASplit : public wild::RightDecode {
 protected:
  Range Part(const MlafuzzDecode& args, int64_t width, int64_t split) override {
    if (Tiles(width) < Splits(args, width)) return {0, 0};
    return RightDecode::Part(args, width, split);
  }

  void StoreOut(const MlafuzzDecode& args, int64_t query, int64_t head,
                const std::vector<float>& out, size_t splits) override {
    const int64_t width = Width(args, query);
    const bool none = width > 0 && Tiles(width) < Splits(args, width);
    RightDecode::StoreOut(args, query, head,
                          none ? std::vector<float>(wild::kLatent, NAN) : out,
                          splits);
  }
};

}  // namespace

WILD_EXPORT_DECODE(NoTileASplit);
