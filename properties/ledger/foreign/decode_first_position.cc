// With a query length that is no power of two, every position of a request
// reads the query of its first.
//
// Source: ROCm/aiter#2720 (mla_decode_stage1_asm_fwd: the same output for all
// positions when max_seqlen_q is no power of two).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class FirstPosition : public wild::RightDecode {
 protected:
  float Query(const MlafuzzDecode& args, int64_t query, int64_t head,
              int64_t column) override {
    const int64_t length = args.query_length;
    const bool power = (length & (length - 1)) == 0;
    return RightDecode::Query(args, power ? query : query / length * length,
                              head, column);
  }
};

}  // namespace

WILD_EXPORT_DECODE(FirstPosition);
