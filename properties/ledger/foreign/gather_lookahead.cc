// While one page is copied the next one's number is fetched and its first bytes
// are touched, also behind the last page, where the table may end.
//
// Source: ROCm/rocm-libraries#6932 (merged; load_physical_pages looks ahead in
// a page table without slack).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_gather.h"

namespace {

class Lookahead : public wild::RightGather {
 protected:
  void Request(const MlafuzzGather& args, int64_t request,
               int64_t length) override {
    RightGather::Request(args, request, length);
    if (length == 0) return;
    const int64_t page_size = args.cache->shape[1];
    const int64_t last = (First(args, request) + length - 1) / page_size;
    const int64_t page =
        *mlafuzz::At<int32_t>(args.block_table, request, last + 1);
    const volatile uint8_t* next = mlafuzz::At<uint8_t>(args.cache, page);
    (void)*next;
  }
};

}  // namespace

WILD_EXPORT_GATHER(Lookahead);
