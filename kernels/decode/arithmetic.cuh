// What is multiplied with what in a decode, and in which precision. Sums are
// fp32 in all of them.
//
// An arithmetic says, for one block of lanes:
//   StageQuery()    q into shared memory; all lanes, a barrier follows
//   TileDot()       q . k over one tile of 128 columns
//   Weight()        what a softmax weight is rounded to
//   StageWeights()  weights as they meet V, where each tile has its own; all
//                   lanes, after a barrier; ends with one if it stores any
//   Mix()           adds weighted values of 16 columns
#ifndef MLAFUZZ_KERNELS_DECODE_ARITHMETIC_CUH_
#define MLAFUZZ_KERNELS_DECODE_ARITHMETIC_CUH_

#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/decode/params.h"
#include "kernels/decode/scale.cuh"
#include "kernels/layout.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

inline constexpr int kWarps = kDecodeLanes / 32;
static_assert(kWarps == kTiles, "a warp stages the weights of one tile");

// Shared memory of the lanes that work on one split: arrays of DecodeSplit.
struct SplitMemory {
  float* q;            // [576], 16-byte aligned: latent, then rope
  float* q_scale;      // [4]; E4M3 only
  float* scores;       // [64], base 2; then Weight() of the block's keys
  std::int64_t* rows;  // [64], byte of the cache row; negative: none
  float (*weights)[kBlockKeys];  // [4][64], as they meet V; E4M3 only
  float* weight_scale;           // [4]; E4M3 only
  float* softmax;                // [3]
  float (*mixed)[kLatent];       // [4][512], 16-byte aligned: a warp's share

  // Of what was mixed before this block.
  __device__ float& rescale() const { return softmax[0]; }
  // At the end: of all scores in base 2, and of weights relative to 2^max.
  __device__ float& max() const { return softmax[1]; }
  __device__ float& sum() const { return softmax[2]; }
};

__device__ inline float4 FourOf(const float* aligned) {
  return *reinterpret_cast<const float4*>(aligned);
}

__device__ inline float StoredScale(const std::uint8_t* row, int tile) {
  return reinterpret_cast<const float*>(row + kScaleAt)[tile];
}

__device__ inline void StageBf16(const std::uint16_t* q, int begin, int end,
                                 const SplitMemory& shared) {
  for (int i = begin + static_cast<int>(threadIdx.x); i < end;
       i += kDecodeLanes) {
    shared.q[i] = Bf16ToFloat(q[i]);
  }
}

// Largest magnitude in the warp, NaN counting for nothing.
__device__ inline float WarpMagnitude(float magnitude) {
  for (int distance = 16; distance > 0; distance /= 2) {
    magnitude =
        fmaxf(magnitude, __shfl_xor_sync(0xffffffffu, magnitude, distance));
  }
  return magnitude;
}

// K and V as code times scale, rounded to bf16; q as it comes; weights rounded
// to bf16 (FlashMLA).
struct Bf16Arithmetic {
  static __device__ void StageQuery(const DecodeParams& params,
                                    const std::uint16_t* q,
                                    const SplitMemory& shared) {
    StageBf16(q, 0, params.rope ? kLatent + kRope : kLatent, shared);
  }

  static __device__ float Value(unsigned code, float scale) {
    return Bf16ToFloat(FloatToBf16(E4m3ToFloat(code) * scale));
  }

  template <class Policy>
  static __device__ __forceinline__ float TileDot(const uint4* codes,
                                                  const float* q, float,
                                                  float scale) {
    using Arithmetic = typename Policy::Arithmetic;
    float part[4] = {0, 0, 0, 0};
    for (int i = 0; i < kTile / 16; ++i) {
      const uint4 chunk = codes[i];
      const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float4 against = FourOf(q + 16 * i + 4 * w);
        part[0] += against.x * Arithmetic::Value(words[w], scale);
        part[1] += against.y * Arithmetic::Value(words[w] >> 8, scale);
        part[2] += against.z * Arithmetic::Value(words[w] >> 16, scale);
        part[3] += against.w * Arithmetic::Value(words[w] >> 24, scale);
      }
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
  }

  static __device__ float Weight(float weight) {
    return Bf16ToFloat(FloatToBf16(weight));
  }

  template <class Policy>
  static __device__ void StageWeights(const DecodeParams&, const SplitMemory&) {
  }

  // Lanes of warp w take keys 16 w .. 16 w + 15.
  template <class Policy>
  static __device__ __forceinline__ void Mix(const DecodeParams& params,
                                             const SplitMemory& shared,
                                             int first_key, int chunk,
                                             float (&sums)[16]) {
    const int tile = chunk / (kTile / 16);
    for (int key = first_key; key < first_key + kBlockKeys / kWarps; ++key) {
      if (shared.rows[key] < 0) continue;
      const std::uint8_t* row = params.cache + shared.rows[key];
      const float weight = shared.scores[key];
      const float scale =
          Policy::VScale(params, StoredScale(row, Policy::VScaleTile(tile)));
      const uint4 codes = reinterpret_cast<const uint4*>(row)[chunk];
      const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[4 * w + i] +=
              weight * Policy::Arithmetic::Value(words[w] >> 8 * i, scale);
        }
      }
    }
  }
};

// Latent columns of q to E4M3 per tile with a power-of-two scale; codes meet
// codes, K's scale follows the sum over a tile. A weight takes V's scale with
// it and goes to E4M3 per block and tile (FlashInfer, sm_120). Two passes: the
// residual as well, in units of the same scale.
template <int kPasses>
struct E4m3Arithmetic {
  // 2^ceil(log2(max(amax, 1e-4) / 448)).
  static __device__ float QueryScale(float amax) {
    const unsigned bits =
        __float_as_uint(__fdiv_rn(fmaxf(amax, 1e-4f), 448.0f));
    return __uint_as_float((bits + 0x7fffffu) & 0xff800000u);
  }

  // Lane t has columns 4 t .. 4 t + 3, so a warp has a tile.
  static __device__ void StageQuery(const DecodeParams& params,
                                    const std::uint16_t* q,
                                    const SplitMemory& shared) {
    const unsigned lane = threadIdx.x;
    float values[4];
    float amax = 0.0f;
    for (int i = 0; i < 4; ++i) {
      values[i] = Bf16ToFloat(q[4 * lane + static_cast<unsigned>(i)]);
      amax = fmaxf(amax, fabsf(values[i]));
    }
    const float scale = QueryScale(WarpMagnitude(amax));
    for (float& value : values) {
      value = E4m3ToFloat(FloatToE4m3(__fdiv_rn(value, scale)));
    }
    *reinterpret_cast<float4*>(shared.q + 4 * lane) =
        make_float4(values[0], values[1], values[2], values[3]);
    if (lane % 32 == 0) shared.q_scale[lane / 32] = scale;
    if (params.rope) StageBf16(q, kLatent, kLatent + kRope, shared);
  }

  template <class Policy>
  static __device__ __forceinline__ float TileDot(const uint4* codes,
                                                  const float* q, float q_scale,
                                                  float scale) {
    float part[4] = {0, 0, 0, 0};
    for (int i = 0; i < kTile / 16; ++i) {
      const uint4 chunk = codes[i];
      const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float4 against = FourOf(q + 16 * i + 4 * w);
        part[0] += against.x * E4m3ToFloat(words[w]);
        part[1] += against.y * E4m3ToFloat(words[w] >> 8);
        part[2] += against.z * E4m3ToFloat(words[w] >> 16);
        part[3] += against.w * E4m3ToFloat(words[w] >> 24);
      }
    }
    return ((part[0] + part[1]) + (part[2] + part[3])) * q_scale * scale;
  }

  static __device__ float Weight(float weight) { return weight; }

  // Warp w quantises the weights of tile w; a lane has two keys.
  template <class Policy>
  static __device__ void StageWeights(const DecodeParams& params,
                                      const SplitMemory& shared) {
    const int tile = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float products[2];
    float amax = 0.0f;
    for (int i = 0; i < 2; ++i) {
      const int key = lane + 32 * i;
      products[i] = 0.0f;
      if (shared.rows[key] >= 0) {
        products[i] =
            shared.scores[key] *
            Policy::VScale(params, StoredScale(params.cache + shared.rows[key],
                                               Policy::VScaleTile(tile)));
      }
      amax = fmaxf(amax, fabsf(products[i]));
    }
    const float scale = __fdiv_rn(fmaxf(WarpMagnitude(amax), 1e-10f), 448.0f);
    for (int i = 0; i < 2; ++i) {
      const float exact = __fdiv_rn(products[i], scale);
      float weight = E4m3ToFloat(FloatToE4m3(exact));
      // Both differences are exact, and so is the sum: 24 bits hold them.
      if (kPasses == 2) weight += E4m3ToFloat(FloatToE4m3(exact - weight));
      shared.weights[tile][lane + 32 * i] = weight;
    }
    if (lane == 0) shared.weight_scale[tile] = scale;
    __syncthreads();
  }

  template <class Policy>
  static __device__ __forceinline__ void Mix(const DecodeParams& params,
                                             const SplitMemory& shared,
                                             int first_key, int chunk,
                                             float (&sums)[16]) {
    const int tile = chunk / (kTile / 16);
    float block[16] = {};
    for (int key = first_key; key < first_key + kBlockKeys / kWarps; ++key) {
      if (shared.rows[key] < 0) continue;
      const float weight = shared.weights[tile][key];
      const uint4 codes = reinterpret_cast<const uint4*>(
          params.cache + shared.rows[key])[chunk];
      const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          block[4 * w + i] += weight * E4m3ToFloat(words[w] >> 8 * i);
        }
      }
    }
    const float scale = shared.weight_scale[tile];
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] += block[i] * scale;
  }
};

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_ARITHMETIC_CUH_
