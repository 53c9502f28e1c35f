// A writer of fp8_ds_mla rows in plain C++, to copy from.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/target_helpers.h"

static float FromBf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static uint8_t ToE4m3(float x) {  // to nearest even
  if (std::isnan(x)) return 0x7f;
  const float a = std::min(std::fabs(x), 448.0f);
  const int exponent = a < 0x1p-6f ? -6 : std::ilogb(a);
  const float steps = std::nearbyint(std::ldexp(a, 3 - exponent));
  return uint8_t((std::signbit(x) ? 128 : 0) + (exponent + 6) * 8 + steps);
}

static int32_t Write(const MlafuzzCall*, const MlafuzzWrite* args) {
  for (int64_t token = 0; token < args->slot_mapping->shape[0]; ++token) {
    const int64_t slot = *mlafuzz::At<int64_t>(args->slot_mapping, token);
    if (slot < 0) continue;
    uint8_t* row = mlafuzz::CacheRow(args->cache, slot);
    for (int tile = 0; tile < 4; ++tile) {
      const auto* x = mlafuzz::At<uint16_t>(args->kv_c, token, 128 * tile);
      float amax = 0;  // of what is no NaN
      for (int i = 0; i < 128; ++i) {
        amax = std::max(amax, std::fabs(FromBf16(x[i])));
      }
      const float scale = std::max(amax / 448.0f, 0x1p-126f);
      for (int i = 0; i < 128; ++i) {
        row[128 * tile + i] = ToE4m3(FromBf16(x[i]) / scale);
      }
      std::memcpy(row + 512 + 4 * tile, &scale, 4);
    }
    std::memset(row + 528, 0, 128);
    if (args->k_pe == nullptr) continue;
    std::memcpy(row + 528, mlafuzz::At<uint16_t>(args->k_pe, token), 128);
  }
  return MLAFUZZ_OK;
}

MLAFUZZ_EXPORT_TARGET(
    "name: 'example writer' contract { writer { inputs: BF16 } }", Write,
    nullptr, nullptr, nullptr);
