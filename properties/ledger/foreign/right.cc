// All four right kernels: what the wrong ones of this folder derive from must
// never be flagged.
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_convert.h"
#include "properties/ledger/foreign/right_decode.h"
#include "properties/ledger/foreign/right_gather.h"
#include "properties/ledger/foreign/right_writer.h"

static int32_t Write(const MlafuzzCall*, const MlafuzzWrite* args) {
  return wild::RightWriter().Write(*args);
}

static int32_t Gather(const MlafuzzCall*, const MlafuzzGather* args) {
  return wild::RightGather().Gather(*args);
}

static int32_t Convert(const MlafuzzCall*, const MlafuzzConvert* args) {
  return wild::RightConvert().Convert(*args);
}

static int32_t Decode(const MlafuzzCall*, const MlafuzzDecode* args) {
  return wild::RightDecode().Decode(*args);
}

MLAFUZZ_EXPORT_TARGET(wild::kDescription, Write, Gather, Convert, Decode);
