// Tokens for slot 0 are dropped: the writer takes it for the padding slot of
// another engine's pools, by default.
//
// Source: sgl-project/sglang#32477 and #36003 (reserved_skip_index, 0 unless
// asked otherwise); a pool without a reserved slot loses that token.
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_writer.h"

namespace {

class ReservedSlot : public wild::RightWriter {
 protected:
  void Store(const MlafuzzWrite& args, int64_t token, const uint8_t* staged,
             uint8_t* row) override {
    constexpr int64_t kReserved = 0;
    if (*mlafuzz::At<int64_t>(args.slot_mapping, token) == kReserved) return;
    RightWriter::Store(args, token, staged, row);
  }
};

}  // namespace

WILD_EXPORT_WRITER(ReservedSlot);
