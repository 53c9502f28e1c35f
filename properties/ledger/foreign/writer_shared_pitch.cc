// One row pitch serves both inputs: rows of k_pe are stepped over by the stride
// of kv_c. The first token is right.
//
// Source: FlashML-org/FreeToken#354 (discussion of a write kernel of an fp8
// cache, found by compute-sanitizer): one pitch for K and V.
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_writer.h"

namespace {

class SharedPitch : public wild::RightWriter {
 protected:
  const uint8_t* Rope(const MlafuzzWrite& args, int64_t token) override {
    if (args.k_pe == nullptr) return nullptr;
    return reinterpret_cast<const uint8_t*>(
        mlafuzz::At<uint16_t>(args.k_pe, 0) + token * args.kv_c->strides[0]);
  }
};

}  // namespace

WILD_EXPORT_WRITER(SharedPitch);
