// The page size is taken over when the first call sets things up, and stays.
// Right for as long as all pools of a process have the same.
//
// Source: vllm-project/vllm#51031 (merged; the slot mapping of context
// parallel decodes keeps the block size that was set before the kernel's was
// known).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_convert.h"

namespace {

class FirstPageSize : public wild::RightConvert {
 protected:
  int64_t PageSize(const MlafuzzConvert& args) override {
    static const int64_t page_size = args.page_size;
    return page_size;
  }
};

}  // namespace

WILD_EXPORT_CONVERT(FirstPageSize);
