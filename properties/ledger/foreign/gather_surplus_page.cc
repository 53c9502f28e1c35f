// A request whose length fills its last page has the next page in its list
// already, and its length is counted back from the list: one page too many.
//
// Source: pegainfer-project/pegainfer#291, fixed by #350 ((pages - 1) *
// page_size + last_page_len with one page of surplus).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_gather.h"

namespace {

class SurplusPage : public wild::RightGather {
 protected:
  int64_t Length(const MlafuzzGather& args, int64_t request) override {
    const int64_t length = RightGather::Length(args, request);
    if (length == 0) return 0;
    const int64_t page_size = args.cache->shape[1];
    const int64_t pages = length / page_size + 1;
    const int64_t last = (length - 1) % page_size + 1;
    return (pages - 1) * page_size + last;
  }
};

}  // namespace

WILD_EXPORT_GATHER(SurplusPage);
