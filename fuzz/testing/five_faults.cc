// Kernels with five faults, of which two are in one kernel each and show in one
// call; built with FIVE_FAULTS_RIGHT it has none of them.
//
//   writer  a row without rope keeps its old tail; scales are powers of two
//   gather  of a row without rope the reserved bytes are handed on
//   decode  the LSE is a natural logarithm; scales of values are ignored
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/target_helpers.h"
#include "properties/ledger/foreign/exports.h"
#include "properties/ledger/foreign/right_decode.h"
#include "properties/ledger/foreign/right_gather.h"
#include "properties/ledger/foreign/right_writer.h"

namespace wild {
namespace {

class WrongWriter : public RightWriter {
#ifndef FIVE_FAULTS_RIGHT
 protected:
  void Quantise(const float* x, uint8_t* codes, float* scale) override {
    const float exact = Scale(x, kTile);
    int exponent;
    const float mantissa = std::frexp(exact, &exponent);
    *scale = std::isinf(exact)
                 ? exact
                 : std::ldexp(1.0f, mantissa == 0.5f ? exponent - 1 : exponent);
    for (int i = 0; i < kTile; ++i) codes[i] = ToE4m3(x[i] / *scale);
  }
  void Store(const MlafuzzWrite& args, int64_t token, const uint8_t* staged,
             uint8_t* row) override {
    std::memcpy(row, staged, kRopeAt);
    if (const uint8_t* rope = Rope(args, token); rope != nullptr) {
      std::memcpy(row + kRopeAt, rope, 2 * kRope);
    }
  }
#endif
};

class WrongGather : public RightGather {
#ifndef FIVE_FAULTS_RIGHT
 protected:
  void Request(const MlafuzzGather& args, int64_t request,
               int64_t length) override {
    MlafuzzGather verbatim = args;
    verbatim.nope = 0;
    RightGather::Request(verbatim, request, length);
  }
#endif
};

class WrongDecode : public RightDecode {
#ifndef FIVE_FAULTS_RIGHT
 protected:
  float Value(const Key& key, size_t d) override {
    return FromE4m3(key.codes[d]);
  }
  void StoreLse(const MlafuzzDecode& args, int64_t query, int64_t head,
                float lse, size_t splits, bool any) override {
    RightDecode::StoreLse(args, query, head, lse / kLog2E, splits, any);
  }
#endif
};

int32_t WriteAll(const MlafuzzCall*, const MlafuzzWrite* args) {
  return WrongWriter().Write(*args);
}
int32_t GatherAll(const MlafuzzCall*, const MlafuzzGather* args) {
  return WrongGather().Gather(*args);
}
int32_t DecodeAll(const MlafuzzCall*, const MlafuzzDecode* args) {
  return WrongDecode().Decode(*args);
}

}  // namespace
}  // namespace wild

MLAFUZZ_EXPORT_TARGET(wild::kDescription, wild::WriteAll, wild::GatherAll,
                      nullptr, wild::DecodeAll);
