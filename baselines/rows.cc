#include "baselines/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "baselines/formats.h"

namespace mlafuzz::baselines {

float ScaleOf(float amax, TileScale rule) {
  const float scale = amax / 448.0f;
  if (rule == TileScale::kRaw || scale != scale) return scale;
  int exponent;
  // In [1/2, 1): the next power of two is 2^exponent, but for a power itself.
  const float fraction = std::frexp(std::max(scale, 1e-4f), &exponent);
  return std::ldexp(1.0f, fraction == 0.5f ? exponent - 1 : exponent);
}

void PackRow(const std::uint16_t* values, TileScale rule, float least_amax,
             std::uint8_t* row) {
  for (int tile = 0; tile < kTiles; ++tile) {
    const std::uint16_t* const in = values + tile * kTile;
    float amax = least_amax;
    for (int i = 0; i < kTile; ++i) {
      const float magnitude = std::fabs(FromBf16(in[i]));
      if (magnitude > amax || magnitude != magnitude) amax = magnitude;
      if (amax != amax) break;
    }
    const float scale = ScaleOf(amax, rule);
    for (int i = 0; i < kTile; ++i) {
      row[tile * kTile + i] = ToE4m3(FromBf16(in[i]) / scale);
    }
    std::memcpy(row + kLatent + 4 * tile, &scale, 4);
  }
  std::memcpy(row + kLatent + 4 * kTiles, values + kLatent, 2 * kRope);
}

void UnpackRow(const std::uint8_t* row, Through through, float* values) {
  for (int tile = 0; tile < kTiles; ++tile) {
    float scale;
    std::memcpy(&scale, row + kLatent + 4 * tile, 4);
    for (int i = tile * kTile; i < (tile + 1) * kTile; ++i) {
      const float product = FromE4m3(row[i]) * scale;
      values[i] = RoundToBf16(through == Through::kFp16 ? RoundToFp16(product)
                                                        : product);
    }
  }
  for (int i = 0; i < kRope; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, row + kLatent + 4 * kTiles + 2 * i, 2);
    values[kLatent + i] = FromBf16(bits);
  }
}

PoolImage EmptyPool(std::int64_t pages, std::int64_t page_size,
                    std::int64_t extra_rows) {
  PoolImage pool;
  pool.pages = pages;
  pool.page_size = page_size;
  pool.page_stride = (page_size + extra_rows) * kRowBytes;
  pool.row_stride = kRowBytes;
  pool.row_bytes = kRowBytes;
  pool.bytes.resize(static_cast<std::size_t>(pages * pool.page_stride));
  return pool;
}

std::vector<float> UnpackPool(const PoolImage& pool, Through through) {
  std::vector<float> values(static_cast<std::size_t>(pool.slots() * kColumns));
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    UnpackRow(&pool.bytes[static_cast<std::size_t>(pool.RowAt(slot))], through,
              &values[static_cast<std::size_t>(slot * kColumns)]);
  }
  return values;
}

}  // namespace mlafuzz::baselines
