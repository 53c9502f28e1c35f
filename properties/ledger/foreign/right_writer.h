// A right writer. Each step is a virtual function, so that a wrong one is a
// class that overrides one of them.
#ifndef MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_WRITER_H_
#define MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_WRITER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/target_helpers.h"
#include "properties/ledger/foreign/formats.h"

namespace wild {

class RightWriter {
 public:
  virtual ~RightWriter() = default;

  int32_t Write(const MlafuzzWrite& args) {
    for (int64_t token = 0; token < args.slot_mapping->shape[0]; ++token) {
      const int64_t slot = *mlafuzz::At<int64_t>(args.slot_mapping, token);
      if (slot < 0) continue;
      uint8_t staged[kRopeAt];  // codes, then scales
      for (int tile = 0; tile < kLatent / kTile; ++tile) {
        float x[kTile];
        for (int i = 0; i < kTile; ++i) {
          x[i] = Load(args.kv_c, token, tile * kTile + i);
        }
        float scale;
        Quantise(x, staged + tile * kTile, &scale);
        std::memcpy(staged + kScaleAt + 4 * tile, &scale, sizeof scale);
      }
      Store(args, token, staged, mlafuzz::CacheRow(args.cache, slot));
    }
    Finish(args);
    return MLAFUZZ_OK;
  }

 protected:
  static float Load(const DLTensor* tensor, int64_t row, int64_t column) {
    const uint16_t bits = *mlafuzz::At<uint16_t>(tensor, row, column);
    return tensor->dtype.code == kDLFloat ? FromHalf(bits) : FromBf16(bits);
  }

  static float Scale(const float* x, int count) {
    float amax = 0;  // of what is no NaN
    for (int i = 0; i < count; ++i) amax = std::max(amax, std::fabs(x[i]));
    return std::max(amax / 448.0f, 0x1p-126f);
  }

  // One tile.
  virtual void Quantise(const float* x, uint8_t* codes, float* scale) {
    *scale = Scale(x, kTile);
    for (int i = 0; i < kTile; ++i) codes[i] = ToE4m3(x[i] / *scale);
  }

  // Where a token's rope stands; null without one.
  virtual const uint8_t* Rope(const MlafuzzWrite& args, int64_t token) {
    if (args.k_pe == nullptr) return nullptr;
    return reinterpret_cast<const uint8_t*>(
        mlafuzz::At<uint16_t>(args.k_pe, token));
  }

  virtual void Store(const MlafuzzWrite& args, int64_t token,
                     const uint8_t* staged, uint8_t* row) {
    std::memcpy(row, staged, kRopeAt);
    const uint8_t* rope = Rope(args, token);
    if (rope == nullptr) {
      std::memset(row + kRopeAt, 0, 2 * kRope);
    } else {
      std::memcpy(row + kRopeAt, rope, 2 * kRope);
    }
  }

  // After the last token.
  virtual void Finish(const MlafuzzWrite& /*args*/) {}
};

}  // namespace wild

#endif  // MLAFUZZ_PROPERTIES_LEDGER_FOREIGN_RIGHT_WRITER_H_
