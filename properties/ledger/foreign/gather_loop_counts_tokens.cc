// A loop whose steps take 64 pages each makes ceil(length / 4096) of them,
// which is enough for pages of 64 tokens: of smaller pages it takes the first
// ones only.
//
// Source: sgl-project/sglang#11985 (merged; create_flashmla_kv_indices_triton
// with page_size 32).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_gather.h"

namespace {

class LoopCountsTokens : public wild::RightGather {
 protected:
  void Request(const MlafuzzGather& args, int64_t request,
               int64_t length) override {
    constexpr int64_t kPagesAStep = 64;
    constexpr int64_t kTokensAStep = 4096;
    const int64_t page_size = args.cache->shape[1];
    const int64_t steps = (length + kTokensAStep - 1) / kTokensAStep;
    const int64_t into = First(args, request) % page_size;
    RightGather::Request(
        args, request,
        std::clamp<int64_t>(steps * kPagesAStep * page_size - into, 0, length));
  }
};

}  // namespace

WILD_EXPORT_GATHER(LoopCountsTokens);
