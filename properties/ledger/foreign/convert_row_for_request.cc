// The table has a row a request, the launch a row a token: with several tokens
// a request, tables are looked up by the token's row.
//
// Source: vllm-project/vllm#51848, #51065 (TRITON_MLA: block_table and seq_lens
// are not expanded on the causal path of multi-token decodes).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_convert.h"

namespace {

class RowForRequest : public wild::RightConvert {
 protected:
  int64_t Request(const MlafuzzConvert&, int64_t row) override { return row; }
};

}  // namespace

WILD_EXPORT_CONVERT(RowForRequest);
