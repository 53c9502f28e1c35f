// The merge steps from request to request by a stride that is only set where a
// request has one query: with more, and several splits, every request's output
// lands on the first one's.
//
// Source: vllm-project/flash-attention#176 (o_batch_stride stays 0 in a true
// varlen call, which combine_attn_seqk_parallel addresses O by).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class MergeStrideZero : public wild::RightDecode {
 protected:
  void StoreOut(const MlafuzzDecode& args, int64_t query, int64_t head,
                const std::vector<float>& out, size_t splits) override {
    const bool unset = splits > 1 && args.query_length > 1;
    RightDecode::StoreOut(args, unset ? query % args.query_length : query, head,
                          out, splits);
  }
};

}  // namespace

WILD_EXPORT_DECODE(MergeStrideZero);
