// A row without keys leaves early and stores its LSE at the offset of another
// layout, [requests, heads, query length]. The two are one where a request has
// one query; else another row's LSE is overwritten and its own never written.
//
// Source: Dao-AILab/flash-attention#2842, #2573, #2851 (early exit of
// flash_fwd_splitkv_kernel ignores unpadded_lse).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class EarlyExitLse : public wild::RightDecode {
 protected:
  void StoreLse(const MlafuzzDecode& args, int64_t query, int64_t head,
                float lse, size_t splits, bool any) override {
    if (any) {
      RightDecode::StoreLse(args, query, head, lse, splits, any);
      return;
    }
    const int64_t length = args.query_length;
    const int64_t heads = args.q->shape[1];
    *Flat(args.lse, (query / length * heads + head) * length + query % length) =
        lse;
  }
};

}  // namespace

WILD_EXPORT_DECODE(EarlyExitLse);
