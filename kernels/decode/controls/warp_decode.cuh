// A second decode, right and unlike the first: one warp a query and head, its
// splits one after the other, keys one after the other, 16 latent columns and
// two of the rope a lane. It shares number formats and parameters with
// decode.cuh, and no sum.
//
// WarpRules holds the choices that a right kernel has.
#ifndef MLAFUZZ_KERNELS_DECODE_CONTROLS_WARP_DECODE_CUH_
#define MLAFUZZ_KERNELS_DECODE_CONTROLS_WARP_DECODE_CUH_

#include <cmath>
#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/decode/params.h"
#include "kernels/layout.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

inline constexpr int kLaneColumns = kLatent / 32;
inline constexpr int kLaneRope = kRope / 32;

struct WarpRules {
  static constexpr int kKeys = 64;             // a block
  static constexpr int kBlocksOfSplit = 8;     // 0: all, whatever is asked for
  static constexpr bool kBackwards = false;    // sums go from last to first
  static constexpr bool kCodes = false;        // scales follow sums of codes
  static constexpr bool kCodeWeights = false;  // weights in E4M3, with scales

  static __device__ float MultiplyAdd(float a, float b, float c) {
    return a * b + c;
  }
  static __device__ float Exp2(float x) { return exp2f(x); }
  static __device__ float Scale(float stored) { return stored; }
  static __device__ float Value(float product) {
    return Bf16ToFloat(FloatToBf16(product));
  }
  static __device__ float Weight(float weight) {
    return Bf16ToFloat(FloatToBf16(weight));
  }
};

// Blocks of params.lanes, and splits of those as asked for or as the rules say.
template <class Rules>
inline void SetWarpSplits(DecodeParams& params, std::int64_t asked) {
  const std::int64_t blocks = (params.lanes + Rules::kKeys - 1) / Rules::kKeys;
  if (Rules::kBlocksOfSplit == 0) asked = 1;
  params.blocks_per_split = asked == 0 ? Rules::kBlocksOfSplit : 0;
  params.splits =
      asked > 0 ? (asked < blocks ? asked : blocks)
                : (blocks + Rules::kBlocksOfSplit - 1) /
                      (Rules::kBlocksOfSplit == 0 ? 1 : Rules::kBlocksOfSplit);
}

__device__ inline float WarpSum(float x) {
  for (int distance = 1; distance < 32; distance *= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  }
  return x;
}

// What a lane holds of a query and of the sum of values.
struct LaneQuery {
  float latent[kLaneColumns];
  float rope[kLaneRope];
};

template <class Rules>
__device__ inline float WarpScore(const DecodeParams& params,
                                  const LaneQuery& query,
                                  const std::uint8_t* row) {
  const unsigned lane = threadIdx.x;
  const std::uint8_t* codes = row + kLaneColumns * lane;
  const float scale = Rules::Scale(
      reinterpret_cast<const float*>(row + kScaleAt)[lane / (32 / kTiles)]);
  float sum = 0.0f;
  for (int n = 0; n < kLaneColumns; ++n) {
    const int i = Rules::kBackwards ? kLaneColumns - 1 - n : n;
    const float code = E4m3ToFloat(codes[i]);
    sum = Rules::MultiplyAdd(query.latent[i],
                             Rules::kCodes ? code : Rules::Value(code * scale),
                             sum);
  }
  if (Rules::kCodes) sum *= scale;
  if (params.rope) {
    const std::uint16_t* rope =
        reinterpret_cast<const std::uint16_t*>(row + kTailAt) +
        kLaneRope * lane;
    for (int i = 0; i < kLaneRope; ++i) {
      sum = Rules::MultiplyAdd(query.rope[i], Bf16ToFloat(rope[i]), sum);
    }
  }
  return WarpSum(sum) * params.scale_log2;
}

// Byte of the row that candidate `lane` names; negative: it is no key.
__device__ inline std::int64_t WarpRow(const DecodeParams& params,
                                       std::int64_t query, std::int64_t lane) {
  if (params.lengths != nullptr &&
      lane >= params.lengths[query * params.lengths_stride]) {
    return -1;
  }
  const std::int32_t slot =
      params.indices[query * params.indices_row_stride + lane];
  if (slot < 0) return -1;
  return slot / params.page_size * params.page_stride +
         slot % params.page_size * params.row_stride;
}

// Adds a block's weighted values to `sums`; the weights are relative to the
// running maximum.
template <class Rules>
__device__ inline void WarpMix(const DecodeParams& params, const float* weights,
                               const std::int64_t* rows, int keys,
                               float (&sums)[kLaneColumns]) {
  const unsigned lane = threadIdx.x;
  const auto scale_of = [&](int key) {
    return Rules::Scale(reinterpret_cast<const float*>(
        params.cache + rows[key] + kScaleAt)[lane / (32 / kTiles)]);
  };
  float step = 0.0f;
  float block[kLaneColumns] = {};
  if constexpr (Rules::kCodeWeights) {
    for (int key = 0; key < keys; ++key) {
      if (rows[key] < 0) continue;
      step = fmaxf(step, fabsf(weights[key] * scale_of(key)));
    }
    step = __fdiv_rn(fmaxf(step, 1e-10f), 448.0f);
  }
  for (int n = 0; n < keys; ++n) {
    const int key = Rules::kBackwards ? keys - 1 - n : n;
    if (rows[key] < 0) continue;
    const float scale = scale_of(key);
    const std::uint8_t* codes = params.cache + rows[key] + kLaneColumns * lane;
    if constexpr (Rules::kCodeWeights) {
      const float weight =
          E4m3ToFloat(FloatToE4m3(__fdiv_rn(weights[key] * scale, step)));
      for (int i = 0; i < kLaneColumns; ++i) {
        block[i] = Rules::MultiplyAdd(weight, E4m3ToFloat(codes[i]), block[i]);
      }
    } else {
      const float weight = Rules::Weight(weights[key]);
      for (int i = 0; i < kLaneColumns; ++i) {
        sums[i] = Rules::MultiplyAdd(
            weight, Rules::Value(E4m3ToFloat(codes[i]) * scale), sums[i]);
      }
    }
  }
  if constexpr (Rules::kCodeWeights) {
    for (int i = 0; i < kLaneColumns; ++i) {
      sums[i] = Rules::MultiplyAdd(block[i], step, sums[i]);
    }
  }
}

// 2^(x - max), where -Inf stands for nothing.
template <class Rules>
__device__ inline float WarpWeight(float x, float max) {
  return x == -INFINITY ? 0.0f : Rules::Exp2(x - max);
}

// One block a query and head, of 32 lanes.
template <class Rules>
__global__ void __launch_bounds__(32) WarpDecode(DecodeParams params) {
  __shared__ float scores[Rules::kKeys];
  __shared__ std::int64_t rows[Rules::kKeys];
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t query = blockIdx.x / params.heads;
  const std::int64_t head = blockIdx.x % params.heads;
  const std::int64_t first_split = blockIdx.x * params.splits;
  LaneQuery mine = {};
  const std::uint16_t* q =
      params.q + query * params.q_query_stride + head * params.q_head_stride;
  for (int i = 0; i < kLaneColumns; ++i) {
    mine.latent[i] = Bf16ToFloat(q[kLaneColumns * lane + i]);
  }
  for (int i = 0; params.rope && i < kLaneRope; ++i) {
    mine.rope[i] = Bf16ToFloat(q[kLatent + kLaneRope * lane + i]);
  }
  const std::int64_t blocks = (params.lanes + Rules::kKeys - 1) / Rules::kKeys;
  const auto partial_at = [&](std::int64_t split, int i) {
    return (first_split + split) * kLatent + kLaneColumns * lane + i;
  };
  float top = -INFINITY;  // of the splits' LSEs, base 2
  for (std::int64_t split = 0; split < params.splits; ++split) {
    const std::int64_t chosen = params.blocks_per_split;
    const std::int64_t begin =
        chosen > 0 ? split * chosen : split * blocks / params.splits;
    std::int64_t end =
        chosen > 0 ? begin + chosen : (split + 1) * blocks / params.splits;
    if (end > blocks) end = blocks;
    float max = -INFINITY;
    float sum = 0.0f;
    float sums[kLaneColumns] = {};
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t left = params.lanes - block * Rules::kKeys;
      const int keys = static_cast<int>(
          left < Rules::kKeys ? left : std::int64_t{Rules::kKeys});
      float block_max = max;
      for (int key = 0; key < keys; ++key) {
        const std::int64_t row =
            WarpRow(params, query, block * Rules::kKeys + key);
        const float score =
            row < 0 ? -INFINITY
                    : WarpScore<Rules>(params, mine, params.cache + row);
        block_max = fmaxf(block_max, score);
        if (lane == 0) {
          rows[key] = row;
          scores[key] = score;
        }
      }
      __syncwarp();
      const float rescale = WarpWeight<Rules>(max, block_max);
      max = block_max;
      for (int key = lane; key < keys; key += 32) {
        scores[key] = WarpWeight<Rules>(scores[key], max);
      }
      __syncwarp();
      float block_sum = 0.0f;
      for (int key = 0; key < keys; ++key) block_sum += scores[key];
      sum = sum * rescale + block_sum;
      for (int i = 0; i < kLaneColumns; ++i) sums[i] *= rescale;
      WarpMix<Rules>(params, scores, rows, keys, sums);
      __syncwarp();
    }
    for (int i = 0; i < kLaneColumns; ++i) {
      const float value = sum == 0.0f ? 0.0f : __fdiv_rn(sums[i], sum);
      if (params.bf16_partials) {
        static_cast<std::uint16_t*>(params.partials)[partial_at(split, i)] =
            static_cast<std::uint16_t>(FloatToBf16(value));
      } else {
        static_cast<float*>(params.partials)[partial_at(split, i)] = value;
      }
    }
    const float lse = max + log2f(sum);
    if (lane == 0) params.partial_lse[first_split + split] = lse;
    top = fmaxf(top, lse);
  }
  __syncwarp();
  const float sink =
      params.sinks == nullptr
          ? -INFINITY
          : params.sinks[head * params.sinks_stride] * 1.44269504088896340736f;
  const float all_top = fmaxf(top, sink);
  float keys = 0.0f;
  float out[kLaneColumns] = {};
  for (std::int64_t n = 0; n < params.splits; ++n) {
    const std::int64_t split = Rules::kBackwards ? params.splits - 1 - n : n;
    const float split_lse = params.partial_lse[first_split + split];
    const float weight = split_lse == all_top && all_top != -INFINITY
                             ? 1.0f
                             : WarpWeight<Rules>(split_lse, all_top);
    keys += weight;
    for (int i = 0; i < kLaneColumns; ++i) {
      const float value = params.bf16_partials
                              ? Bf16ToFloat(static_cast<const std::uint16_t*>(
                                    params.partials)[partial_at(split, i)])
                              : static_cast<const float*>(
                                    params.partials)[partial_at(split, i)];
      out[i] = Rules::MultiplyAdd(weight, value, out[i]);
    }
  }
  const float all =
      keys + (sink == INFINITY ? 1.0f : WarpWeight<Rules>(sink, all_top));
  std::uint16_t* to = params.out + query * params.out_query_stride +
                      head * params.out_head_stride + kLaneColumns * lane;
  for (int i = 0; i < kLaneColumns; ++i) {
    // Without keys 0, not 0 / 0.
    const float value = keys == 0.0f ? 0.0f : __fdiv_rn(out[i], all);
    to[i] = static_cast<std::uint16_t>(FloatToBf16(value));
  }
  if (lane != 0) return;
  params.lse[query * params.lse_query_stride + head * params.lse_head_stride] =
      all_top + log2f(all);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_CONTROLS_WARP_DECODE_CUH_
