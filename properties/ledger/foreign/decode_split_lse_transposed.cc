// With one split the LSE goes to [queries, heads]; the merge of several stores
// it in the order [heads, queries].
//
// Source: vllm-project/flash-attention#87 (merged; combine_attn_seqk_parallel
// and the layout of softmax_lse under seqlenq_ngroups_swapped).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class SplitLseTransposed : public wild::RightDecode {
 protected:
  void StoreLse(const MlafuzzDecode& args, int64_t query, int64_t head,
                float lse, size_t splits, bool any) override {
    if (splits == 1) {
      RightDecode::StoreLse(args, query, head, lse, splits, any);
      return;
    }
    *Flat(args.lse, head * args.q->shape[0] + query) = lse;
  }
};

}  // namespace

WILD_EXPORT_DECODE(SplitLseTransposed);
