// The decode over pages whose scales stand in a footer (page_split.cuh), in
// E4M3 arithmetic (FlashInfer's DSv4 on sm_120): columns of q that meet codes
// go to E4M3 per tile of the layout with a power-of-two scale; codes meet
// codes, K's scale follows the sum over a tile. A weight takes V's scale with
// it and goes to E4M3 per block and tile; rope among the values is a tile of
// scale 1. Rope in q and K stays bf16.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_E4M3_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_E4M3_CUH_

#include <cstdint>

#include "kernels/decode/page_split.cuh"

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

template <class Policy>
struct PageCodes {
  using Format = typename Policy::Format;
  static constexpr int kCodeChunks = Format::kCodes / 16;

  const DecodeParams& params;
  const SplitMemory& shared;
  const PageMemory& tokens;
  // Shared memory.
  float* q_scales;               // [kCodeTiles]
  float (*weights)[kBlockKeys];  // [kValueTiles][64]
  float* weight_scales;          // [kValueTiles]

  // Lane t has columns 4 t .. 4 t + 3; kTile / 4 lanes agree on a scale.
  __device__ void StageQuery(const std::uint16_t* q) const {
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
      if (column % Format::kTile == 0) q_scales[column / Format::kTile] = scale;
    }
    for (int i = 0; i < 4; ++i) shared.q[column + i] = values[i];
  }

  // Sixteen codes of chunk `chunk`, or rope values, given to take(i, value).
  template <class Take>
  static __device__ __forceinline__ void ForChunk(const PageToken& token,
                                                  int chunk, const Take& take) {
    if (chunk < kCodeChunks) {
      ForCodes(
          token, chunk, [](unsigned code) { return E4m3ToFloat(code); }, take);
      return;
    }
    ForRope<Policy>(token, chunk, take);
  }

  // Tile by tile.
  __device__ __forceinline__ float HalfDot(const PageToken& token,
                                           int half) const {
    constexpr int kChunks = kLatent / 32;
    constexpr int kTileChunks = Format::kTile / 16;
    float dot = 0.0f;
    for (int chunk = kChunks * half; chunk < kChunks * (half + 1);) {
      const bool rope = chunk >= kCodeChunks;
      const int end = rope ? kChunks * (half + 1) : chunk + kTileChunks;
      float part[4] = {0, 0, 0, 0};
      const int tile = Policy::ValueTile(chunk);
      for (; chunk < end; ++chunk) {
        const float* against = shared.q + 16 * chunk;
        ForChunk(token, chunk, [&](int i, float value) {
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

  // A tile a warp at a time; a lane has two keys.
  __device__ void StageWeights() const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int tile = static_cast<int>(threadIdx.x) / 32;
         tile < Policy::kValueTiles; tile += kWarps) {
      float products[2];
      float amax = 0.0f;
      for (int i = 0; i < 2; ++i) {
        const int key = lane + 32 * i;
        products[i] = 0.0f;
        if (tokens.rows[key] != nullptr) {
          const float scale =
              tile < Policy::kCodeTiles
                  ? Policy::Ue8m0(Policy::ScaleByte(tokens.entries[key], tile),
                                  params.v_ends)
                  : 1.0f;
          products[i] = shared.scores[key] * scale;
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

  __device__ __forceinline__ void Mix(int first_key, int chunk, float rescale,
                                      float (&sums)[16]) const {
    const int tile = Policy::WeightTile(chunk);
    float block_sums[16] = {};
    for (int k = first_key; k < first_key + kBlockKeys / kWarps; ++k) {
      const PageToken token = tokens.Token(k);
      if (token.row == nullptr) continue;
      const float weight = weights[tile][k];
      ForChunk(token, chunk,
               [&](int i, float value) { block_sums[i] += weight * value; });
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      sums[i] = sums[i] * rescale + block_sums[i] * weight_scales[tile];
    }
  }
};

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
  const PageMemory tokens = {rows, entries};
  DecodePages<Policy>(params, shared, tokens,
                      PageCodes<Policy>{params, shared, tokens, q_scales,
                                        weights, weight_scales});
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
