// The query is read through a bounded view that is as long as dense heads are:
// where heads lie further apart, the late ones' columns are past its end and
// read as 0.
//
// Source: ROCm/aiter#3841 (merged; fused_qk_rope_concat_and_cache_mla sizes the
// view of a strided q_nope as if heads were contiguous).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class DenseQueryView : public wild::RightDecode {
 protected:
  float Query(const MlafuzzDecode& args, int64_t query, int64_t head,
              int64_t column) override {
    const int64_t view = args.q->shape[1] * args.q->shape[2];
    if (head * args.q->strides[1] + column * args.q->strides[2] >= view) {
      return 0;
    }
    return RightDecode::Query(args, query, head, column);
  }
};

}  // namespace

WILD_EXPORT_DECODE(DenseQueryView);
