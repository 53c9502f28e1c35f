// Several splits, of which one has all the keys: there is nothing to merge, so
// each split stores its LSE itself, and one without keys can be the last.
//
// Source: sgl-project/sgl-kernel-xpu#487 (review: the store of the single-split
// path is not limited to the split that has data).
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"

namespace {

class IdleSplitLse : public wild::RightDecode {
 protected:
  void Merge(const MlafuzzDecode& args, int64_t query, int64_t head,
             const std::vector<Partial>& partials) override {
    RightDecode::Merge(args, query, head, partials);
    size_t active = 0;
    for (const Partial& part : partials) active += part.any ? 1 : 0;
    // Splits of a sink's row go through the merge.
    if (partials.size() == 1 || active != 1 || args.sinks != nullptr) return;
    for (const Partial& part : partials) {
      StoreLse(args, query, head, part.lse, partials.size(), true);
    }
  }
};

}  // namespace

WILD_EXPORT_DECODE(IdleSplitLse);
