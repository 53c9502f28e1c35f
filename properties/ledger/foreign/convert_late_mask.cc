// The table is read for every token, and what lies past its row is masked
// afterwards. Results are right wherever the read is survived.
//
// Source: vllm-project/vllm#48257 (review, fixed before the merge: prefix
// prefill loads the block table for padded lanes past an exactly sized row).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_convert.h"

namespace {

class LateMask : public wild::RightConvert {
 protected:
  int32_t Slot(const MlafuzzConvert& args, int64_t request,
               int64_t token) override {
    if (token < 0) return -1;
    const int64_t column = token / args.page_size;
    const volatile int32_t* entry =
        mlafuzz::At<int32_t>(args.block_table, request, column);
    const int64_t page = *entry;
    if (column >= args.block_table->shape[1]) return -1;
    return int32_t(page * args.page_size + token % args.page_size);
  }
};

}  // namespace

WILD_EXPORT_CONVERT(LateMask);
