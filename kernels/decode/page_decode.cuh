// The decode over pages whose scales stand in a footer (page_split.cuh), in
// fp32: a code times its scale is a value of the arithmetic of decode.cuh.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_

#include <cstdint>

#include "kernels/decode/page_split.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

template <class Policy>
struct PageValues {
  static constexpr int kCodeChunks = Policy::Format::kCodes / 16;

  const DecodeParams& params;
  const SplitMemory& shared;
  const PageMemory& tokens;

  __device__ void StageQuery(const std::uint16_t* q) const {
    StageBf16(q, 0, kLatent, shared);
  }

  // Sixteen values of a token, chunk `chunk` of its 512, given to
  // take(i, value) in order.
  template <class Take>
  static __device__ __forceinline__ void ForChunk(const PageToken& token,
                                                  int chunk,
                                                  const Ue8m0Ends& ends,
                                                  const Take& take) {
    if (chunk < kCodeChunks) {
      const float scale = Policy::Ue8m0(
          Policy::ScaleByte(token.entry, Policy::ScaleOf(chunk)), ends);
      ForCodes(
          token, chunk,
          [&](unsigned code) { return Policy::Arithmetic::Value(code, scale); },
          take);
      return;
    }
    ForRope<Policy>(token, chunk, take);
  }

  __device__ __forceinline__ float HalfDot(const PageToken& token,
                                           int half) const {
    constexpr int kChunks = kLatent / 32;
    float part[4] = {0, 0, 0, 0};
    for (int chunk = kChunks * half; chunk < kChunks * (half + 1); ++chunk) {
      if (chunk >= kCodeChunks && !Policy::MeetsRope()) continue;
      const float* against = shared.q + 16 * chunk;
      ForChunk(token, chunk, params.qk_ends,
               [&](int i, float value) { part[i % 4] += against[i] * value; });
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
  }

  __device__ void StageWeights() const {}

  __device__ __forceinline__ void Mix(int first_key, int chunk, float rescale,
                                      float (&sums)[16]) const {
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] *= rescale;
    const bool rope = chunk >= kCodeChunks;
    if (!Policy::MixesChunk(chunk) || (rope && !Policy::MixesRope())) return;
    for (int k = first_key; k < first_key + kBlockKeys / kWarps; ++k) {
      const PageToken token = tokens.Token(k);
      if (token.row == nullptr) continue;
      const float weight = shared.scores[k];
      ForChunk(token, chunk, params.v_ends,
               [&](int i, float value) { sums[i] += weight * value; });
    }
  }
};

// One block a split, of 128 lanes; splits count fastest, then heads.
template <class Policy>
__global__ void __launch_bounds__(kDecodeLanes)
    DecodePageSplit(DecodeParams params) {
  __shared__ __align__(16) float q[kLatent];
  __shared__ float scores[kBlockKeys];
  __shared__ const std::uint8_t* rows[kBlockKeys];
  __shared__ const std::uint8_t* entries[kBlockKeys];
  __shared__ float softmax[3];
  __shared__ __align__(16) float mixed[kWarps][kLatent];
  const SplitMemory shared = {q,       nullptr, scores,  nullptr,
                              nullptr, nullptr, softmax, mixed};
  const PageMemory tokens = {rows, entries};
  DecodePages<Policy>(params, shared, tokens,
                      PageValues<Policy>{params, shared, tokens});
}

// As LaunchDecode().
template <class Policy>
simt::LaunchResult LaunchPageDecode(const DecodeParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  return LaunchSplits<Policy>(params, stream, schedule,
                              DecodePageSplit<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_
