// The decode over pages whose scales stand in a footer, in E4M3 arithmetic
// (FlashInfer's DSv4 on sm_120): columns of q that meet codes go to E4M3 per
// tile of the layout with a power-of-two scale; codes meet codes, K's scale
// follows the sum over a tile. A weight takes V's scale with it and goes to
// E4M3 per block and tile; rope among the values is a tile of scale 1. Rope in
// q and K stays bf16.
//
// Splits, blocks and candidates are those of page_decode.cuh, and so is the
// policy.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_E4M3_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_E4M3_CUH_

#include <cstdint>

#include "kernels/decode/page_decode.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

template <class F>
struct PageE4m3Policy : PageDecodePolicy<F> {
  using Arithmetic = E4m3Arithmetic<1>;
  // Tiles of values: those of codes, then rope.
  static constexpr int kCodeTiles = F::kCodes / F::kTile;
  static constexpr int kValueTiles = kCodeTiles + (F::kRope != 0 ? 1 : 0);

  // The tile of values that 16 columns belong to.
  static __device__ int ValueTile(int chunk) {
    const int tile = chunk / (F::kTile / 16);
    return tile < kCodeTiles ? tile : kCodeTiles;
  }
  // The tile whose weights those columns are mixed with.
  static __device__ int WeightTile(int chunk) { return ValueTile(chunk); }
};

// Lane t has columns 4 t .. 4 t + 3; kTile / 4 lanes agree on a scale.
template <class Policy>
__device__ inline void StageE4m3Query(const std::uint16_t* q, float* staged,
                                      float* scales) {
  using Format = typename Policy::Format;
  const int lane = static_cast<int>(threadIdx.x);
  const int column = 4 * lane;
  float values[4];
  float amax = 0.0f;
  for (int i = 0; i < 4; ++i) {
    values[i] = Bf16ToFloat(q[column + i]);
    amax = fmaxf(amax, fabsf(values[i]));
  }
  for (int distance = Format::kTile / 8; distance > 0; distance /= 2) {
    amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, distance));
  }
  if (column < Format::kCodes) {
    const float scale = Policy::Arithmetic::QueryScale(amax);
    for (float& value : values) {
      value = E4m3ToFloat(FloatToE4m3(__fdiv_rn(value, scale)));
    }
    if (column % Format::kTile == 0) scales[column / Format::kTile] = scale;
  }
  for (int i = 0; i < 4; ++i) staged[column + i] = values[i];
}

// Sixteen codes of chunk `chunk`, or rope values, given to take(i, value).
template <class Policy, class Take>
__device__ __forceinline__ void ForCodes(const PageToken& token, int chunk,
                                         const Take& take) {
  using Format = typename Policy::Format;
  constexpr int kCodeChunks = Format::kCodes / 16;
  if (chunk < kCodeChunks) {
    const uint4 codes = reinterpret_cast<const uint4*>(token.row)[chunk];
    const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        take(4 * w + i, E4m3ToFloat(words[w] >> 8 * i));
      }
    }
    return;
  }
  const uint4* rope = reinterpret_cast<const uint4*>(
      token.row + Format::kCodes + 32 * (chunk - kCodeChunks));
  for (int half = 0; half < 2; ++half) {
    const uint4 chunk_words = rope[half];
    const unsigned words[4] = {chunk_words.x, chunk_words.y, chunk_words.z,
                               chunk_words.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float2 pair = Policy::Rope(token, words[w]);
      take(8 * half + 2 * w, pair.x);
      take(8 * half + 2 * w + 1, pair.y);
    }
  }
}

// Half of q . k: 256 columns, tile by tile.
template <class Policy>
__device__ inline float HalfE4m3Dot(const DecodeParams& params, const float* q,
                                    const float* q_scales,
                                    const PageToken& token, int half) {
  using Format = typename Policy::Format;
  constexpr int kChunks = kLatent / 32;
  constexpr int kTileChunks = Format::kTile / 16;
  constexpr int kCodeChunks = Format::kCodes / 16;
  float dot = 0.0f;
  for (int chunk = kChunks * half; chunk < kChunks * (half + 1);) {
    const bool rope = chunk >= kCodeChunks;
    const int end = rope ? kChunks * (half + 1) : chunk + kTileChunks;
    float part[4] = {0, 0, 0, 0};
    const int tile = Policy::ValueTile(chunk);
    for (; chunk < end; ++chunk) {
      const float* against = q + 16 * chunk;
      ForCodes<Policy>(token, chunk, [&](int i, float value) {
        part[i % 4] += against[i] * value;
      });
    }
    const float sum = (part[0] + part[1]) + (part[2] + part[3]);
    dot += rope ? sum
                : sum * q_scales[tile] *
                      Policy::Ue8m0(Policy::ScaleByte(token.entry, tile),
                                    params.qk_ends);
  }
  return dot;
}

// Weights as they meet V, a tile a warp at a time; a lane has two keys.
template <class Policy>
__device__ inline void StageE4m3Weights(const DecodeParams& params,
                                        const float* scores,
                                        const std::uint8_t* const* rows,
                                        const std::uint8_t* const* entries,
                                        float (*weights)[kBlockKeys],
                                        float* weight_scales) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int tile = static_cast<int>(threadIdx.x) / 32;
       tile < Policy::kValueTiles; tile += kWarps) {
    float products[2];
    float amax = 0.0f;
    for (int i = 0; i < 2; ++i) {
      const int key = lane + 32 * i;
      products[i] = 0.0f;
      if (rows[key] != nullptr) {
        const float scale =
            tile < Policy::kCodeTiles
                ? Policy::Ue8m0(Policy::ScaleByte(entries[key], tile),
                                params.v_ends)
                : 1.0f;
        products[i] = scores[key] * scale;
      }
      amax = fmaxf(amax, fabsf(products[i]));
    }
    const float scale = __fdiv_rn(fmaxf(WarpMagnitude(amax), 1e-10f), 448.0f);
    // Codes are at most 448, rope is any bf16: its sum takes the scale first,
    // or 448 times the largest would be Inf.
    const bool rope = tile == Policy::kCodeTiles;
    for (int i = 0; i < 2; ++i) {
      const float code =
          E4m3ToFloat(FloatToE4m3(__fdiv_rn(products[i], scale)));
      weights[tile][lane + 32 * i] = rope ? code * scale : code;
    }
    if (lane == 0) weight_scales[tile] = rope ? 1.0f : scale;
  }
  __syncthreads();
}

// One block a split, of 128 lanes; splits count fastest, then heads.
template <class Policy>
__global__ void __launch_bounds__(kDecodeLanes)
    DecodePageE4m3Split(DecodeParams params) {
  __shared__ __align__(16) float q[kLatent];
  __shared__ float q_scales[Policy::kCodeTiles];
  __shared__ float scores[kBlockKeys];
  __shared__ const std::uint8_t* rows[kBlockKeys];
  __shared__ const std::uint8_t* entries[kBlockKeys];
  __shared__ float weights[Policy::kValueTiles][kBlockKeys];
  __shared__ float weight_scales[Policy::kValueTiles];
  __shared__ float softmax[3];
  __shared__ __align__(16) float mixed[kWarps][kLatent];
  const SplitMemory shared = {q,       nullptr, scores,  nullptr,
                              nullptr, nullptr, softmax, mixed};
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t split = blockIdx.x % params.splits;
  const auto [query, head] =
      Policy::OutputAt(params, blockIdx.x / params.splits);
  StageE4m3Query<Policy>(
      params.q + query * params.q_query_stride + head * params.q_head_stride, q,
      q_scales);
  RunningSoftmax running = {Policy::MaskedScore(), 0.0f};
  __syncthreads();
  const std::int64_t first_blocks =
      (params.lanes + kBlockKeys - 1) / kBlockKeys;
  const std::int64_t blocks = BlocksOf(params);
  const std::int64_t per_split = params.blocks_per_split;
  const std::int64_t first = Policy::FirstBlock(
      per_split > 0 ? split * per_split : split * blocks / params.splits);
  const std::int64_t end = per_split > 0 ? (split + 1) * per_split
                                         : (split + 1) * blocks / params.splits;
  const std::int64_t last = end < blocks ? end : blocks;
  const std::int64_t length = Policy::Length(params, query);
  const std::int64_t extra_length =
      params.extra_lanes > 0 ? Policy::ExtraLength(params, query) : 0;
  const int warp = lane / 32;
  const int chunk = lane % 32;  // of 16 columns
  float sums[16] = {};
  for (std::int64_t block = first; block < last; ++block) {
    const bool extra = block >= first_blocks;
    // Of the row that the block belongs to.
    const std::int64_t first_lane =
        (extra ? block - first_blocks : block) * kBlockKeys;
    const std::int64_t lanes = extra ? params.extra_lanes : params.lanes;
    const std::int64_t row_length = extra ? extra_length : length;
    const int key = lane / 2;
    bool is_key;
    const PageToken token = CandidateToken<Policy>(
        params, query, extra, first_lane + key, row_length, &is_key);
    float dot = 0.0f;
    if (token.row != nullptr) {
      dot = HalfE4m3Dot<Policy>(params, q, q_scales, token, lane % 2);
    }
    dot += __shfl_xor_sync(0xffffffffu, dot, 1);
    if (lane % 2 == 0) {
      rows[key] = token.row;
      entries[key] = token.entry;
      scores[key] = is_key                     ? dot * params.scale_log2
                    : first_lane + key < lanes ? Policy::MaskedScore()
                                               : -INFINITY;
    }
    Policy::ScoresStaged();
    simt::Perturb(params.timing, 0);
    if (warp == 0) {
      UpdateSoftmax<Policy>(shared, row_length - first_lane, running);
    }
    Policy::WeightsStaged();
    simt::Perturb(params.timing, 1);
    StageE4m3Weights<Policy>(params, scores, rows, entries, weights,
                             weight_scales);
    const bool last_block = block + 1 == last;
    const float rescale = Policy::MixRescale(shared.rescale(), last_block);
    const int first_key = warp * (kBlockKeys / kWarps);
    const int tile = Policy::WeightTile(chunk);
    float block_sums[16] = {};
    for (int k = first_key; k < first_key + kBlockKeys / kWarps; ++k) {
      const PageToken mixed_token = {rows[k], entries[k]};
      if (mixed_token.row == nullptr) continue;
      const float weight = weights[tile][k];
      ForCodes<Policy>(mixed_token, chunk, [&](int i, float value) {
        block_sums[i] += weight * value;
      });
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      sums[i] = sums[i] * rescale + block_sums[i] * weight_scales[tile];
    }
    simt::Perturb(params.timing, 2);
    if (!last_block) Policy::BlockMixed(shared, first_key);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(shared.mixed[warp] + 16 * chunk + 4 * i) =
        make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2],
                    sums[4 * i + 3]);
  }
  if (lane == 0) {
    shared.max() = running.max;
    shared.sum() = running.sum;
  }
  __syncthreads();
  simt::Perturb(params.timing, 3);
  StorePartial<Policy>(params, shared, blockIdx.x);
}

// As LaunchDecode().
template <class Policy>
simt::LaunchResult LaunchPageE4m3(const DecodeParams& params,
                                  simt::Stream stream,
                                  simt::Schedule schedule) {
  return LaunchSplits<Policy>(params, stream, schedule,
                              DecodePageE4m3Split<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_E4M3_CUH_
