// A sparse decode over fp8_ds_mla rows in plain C++, to copy from.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/target_helpers.h"

static float FromBf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static uint16_t ToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (std::isnan(x)) return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float FromE4m3(uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  float value = exponent == 0 ? std::ldexp(float(mantissa), -9)
                              : std::ldexp(float(8 + mantissa), exponent - 10);
  if ((code & 127) == 127) value = NAN;
  return (code & 128) != 0 ? -value : value;
}

constexpr float kLog2E = 1.44269504f;

// One query, one head, over dequantised keys of 576 values.
static void Attend(const MlafuzzDecode* args, int64_t query, int64_t head,
                   const std::vector<float>& keys) {
  const auto* q = mlafuzz::At<uint16_t>(args->q, query, head);
  const float sink = args->sinks == nullptr
                         ? -INFINITY
                         : *mlafuzz::At<float>(args->sinks, head) * kLog2E;
  float top = sink;
  std::vector<float> weights(keys.size() / 576);
  for (size_t k = 0; k < weights.size(); ++k) {
    for (int64_t d = 0; d < args->q->shape[2]; ++d) {
      weights[k] += FromBf16(q[d]) * keys[576 * k + size_t(d)];
    }
    weights[k] *= args->softmax_scale * kLog2E;
    top = std::max(top, weights[k]);
  }
  float sum = sink == top ? 1 : std::exp2(sink - top);
  for (float& weight : weights) sum += weight = std::exp2(weight - top);
  for (size_t d = 0; d < 512; ++d) {
    float value = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      value += weights[k] * keys[576 * k + d];
    }
    *mlafuzz::At<uint16_t>(args->out, query, head, int64_t(d)) =
        ToBf16(weights.empty() ? 0 : value / sum);
  }
  *mlafuzz::At<float>(args->lse, query, head) =
      weights.empty() ? sink : top + std::log2(sum);
}

static int32_t Decode(const MlafuzzCall*, const MlafuzzDecode* args) {
  for (int64_t query = 0; query < args->q->shape[0]; ++query) {
    int64_t width = args->indices->shape[1];
    if (args->lengths != nullptr) {
      width =
          std::min<int64_t>(width, *mlafuzz::At<int32_t>(args->lengths, query));
    }
    std::vector<float> keys;
    for (int64_t i = 0; i < width; ++i) {
      const int32_t slot = *mlafuzz::At<int32_t>(args->indices, query, i);
      if (slot < 0) continue;
      const uint8_t* row = mlafuzz::CacheRow(args->cache, slot);
      float scales[4];
      uint16_t rope[64];
      std::memcpy(scales, row + 512, sizeof scales);
      std::memcpy(rope, row + 528, sizeof rope);
      for (int d = 0; d < 512; ++d) {
        keys.push_back(FromE4m3(row[d]) * scales[d / 128]);
      }
      for (const uint16_t value : rope) keys.push_back(FromBf16(value));
    }
    for (int64_t head = 0; head < args->q->shape[1]; ++head) {
      Attend(args, query, head, keys);
    }
  }
  return MLAFUZZ_OK;
}

MLAFUZZ_EXPORT_TARGET(
    "name: 'example decode' contract { arithmetic {"
    "  dequantised: DEQUANTISED_FP32 query: QUERY_BF16 weights: WEIGHTS_FP32"
    "  accumulator: IEEE_FP32 denormals: DENORMALS_KEPT } }",
    nullptr, nullptr, nullptr, Decode);
