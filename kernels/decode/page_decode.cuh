// The decode over pages whose scales stand in a footer (DeepSeek-V4, DSV4_1),
// with a second cache beside the first where the call has one.
//
// As in decode.cuh candidates form blocks of 64, a split is a run of blocks,
// and one block of 128 lanes works on one split of one query and head. Blocks
// of the first index row come first; the second row begins with a block of its
// own. What differs is where things stand: a key has a row and an entry of
// scales, and the last of its 512 values may be rope, which goes into logits
// and output as it is.
//
// PageDecodePolicy holds the decisions. A wrong twin derives from it and
// overrides one.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_

#include <cstdint>

#include "kernels/decode/decode.cuh"
#include "kernels/layouts/formats.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// One of the two caches.
struct PageCache {
  const std::uint8_t* base;
  std::int64_t page_size;    // rows
  std::int64_t page_stride;  // bytes
};

// Where a candidate's bytes stand; null: none are read.
struct PageToken {
  const std::uint8_t* row;
  const std::uint8_t* entry;  // of scales
};

template <class F>
struct PageDecodePolicy : DecodePolicy {
  using Format = F;
  static constexpr int kScales = Format::kCodes / Format::kTile;
  static_assert(Format::kCodes + Format::kRope == kLatent ||
                Format::kCodes == kLatent);
  static_assert(Format::kEntryBytes != 0 && Format::kUe8m0);

  // ------------------------------------------------------------- Candidates

  static __device__ PageCache First(const DecodeParams& params) {
    return {params.cache, params.page_size, params.page_stride};
  }
  static __device__ PageCache Extra(const DecodeParams& params) {
    return {params.extra_cache, params.extra_page_size,
            params.extra_page_stride};
  }

  static __device__ std::int32_t ExtraSlot(const DecodeParams& params,
                                           std::int64_t query,
                                           std::int64_t lane) {
    return params.extra_indices[query * params.extra_indices_row_stride + lane];
  }
  static __device__ std::int64_t ExtraLength(const DecodeParams& params,
                                             std::int64_t query) {
    return params.extra_lengths == nullptr
               ? params.extra_lanes
               : params.extra_lengths[query * params.extra_lengths_stride];
  }

  static __device__ const std::uint8_t* Page(const PageCache& cache,
                                             std::int64_t slot) {
    return cache.base + slot / cache.page_size * cache.page_stride;
  }
  static __device__ const std::uint8_t* Row(const PageCache& cache,
                                            std::int64_t slot) {
    return Page(cache, slot) + slot % cache.page_size * Format::kRowBytes;
  }
  static __device__ const std::uint8_t* Entry(const PageCache& cache,
                                              std::int64_t slot) {
    return Page(cache, slot) + cache.page_size * Format::kRowBytes +
           slot % cache.page_size * Format::kEntryBytes;
  }
  // What a masked candidate reads.
  static __device__ PageToken MaskedToken(const PageCache&) {
    return {nullptr, nullptr};
  }

  // ------------------------------------------------------ Logits and values

  // A scale byte is an exponent; its ends are read as the parameters say.
  static __device__ float Ue8m0(unsigned byte, const Ue8m0Ends& ends) {
    if (byte == 0) {
      return ends.zero_is_zero ? 0.0f : __uint_as_float(0x00400000u);
    }
    if (byte == 255) {
      return __uint_as_float(ends.last_is_inf ? 0x7f800000u : 0x7fc00000u);
    }
    return __uint_as_float(byte << 23);
  }

  // The number of the scale that goes with 16 columns.
  static __device__ int ScaleOf(int chunk) {
    return chunk / (Format::kTile / 16);
  }
  // And the byte that holds it.
  static __device__ unsigned ScaleByte(const std::uint8_t* entry, int scale) {
    return entry[Format::kScaleAt + scale];
  }

  // Whether columns of rope are part of the logits, of the values.
  static __device__ bool MeetsRope() { return true; }
  static __device__ bool MixesRope() { return true; }
  // Two rope values of a token as floats.
  static __device__ float2 Rope(const PageToken&, unsigned pair) {
    return make_float2(Bf16ToFloat(pair & 0xffffu),
                       __uint_as_float(pair & 0xffff0000u));
  }
};

// The candidate's token, and whether it is a key. `lane` counts in its own row.
template <class Policy>
__device__ inline PageToken CandidateToken(const DecodeParams& params,
                                           std::int64_t query, bool extra,
                                           std::int64_t lane,
                                           std::int64_t length, bool* is_key) {
  *is_key = false;
  if (lane >= (extra ? params.extra_lanes : params.lanes)) {
    return {nullptr, nullptr};
  }
  const PageCache cache = extra ? Policy::Extra(params) : Policy::First(params);
  const std::int32_t slot = extra ? Policy::ExtraSlot(params, query, lane)
                                  : Policy::Slot(params, query, lane);
  if (!Policy::IsKey(slot, lane, length)) return Policy::MaskedToken(cache);
  *is_key = true;
  return {Policy::Row(cache, slot), Policy::Entry(cache, slot)};
}

// Sixteen values of a token, chunk `chunk` of its 512, given to
// take(i, value) in order.
template <class Policy, class Take>
__device__ __forceinline__ void ForChunk(const PageToken& token, int chunk,
                                         const Ue8m0Ends& ends,
                                         const Take& take) {
  using Format = typename Policy::Format;
  constexpr int kCodeChunks = Format::kCodes / 16;
  if (chunk < kCodeChunks) {
    const float scale = Policy::Ue8m0(
        Policy::ScaleByte(token.entry, Policy::ScaleOf(chunk)), ends);
    const uint4 codes = reinterpret_cast<const uint4*>(token.row)[chunk];
    const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        take(4 * w + i, Policy::Arithmetic::Value(words[w] >> 8 * i, scale));
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

// Half of q . k: 256 columns.
template <class Policy>
__device__ inline float HalfTokenDot(const DecodeParams& params, const float* q,
                                     const PageToken& token, int half) {
  constexpr int kChunks = kLatent / 32;
  constexpr int kCodeChunks = Policy::Format::kCodes / 16;
  float part[4] = {0, 0, 0, 0};
  for (int chunk = kChunks * half; chunk < kChunks * (half + 1); ++chunk) {
    if (chunk >= kCodeChunks && !Policy::MeetsRope()) continue;
    const float* against = q + 16 * chunk;
    ForChunk<Policy>(token, chunk, params.qk_ends, [&](int i, float value) {
      part[i % 4] += against[i] * value;
    });
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

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
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t split = blockIdx.x % params.splits;
  const auto [query, head] =
      Policy::OutputAt(params, blockIdx.x / params.splits);
  StageBf16(
      params.q + query * params.q_query_stride + head * params.q_head_stride, 0,
      kLatent, shared);
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
      dot = HalfTokenDot<Policy>(params, q, token, lane % 2);
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
    const bool last_block = block + 1 == last;
    const float rescale = Policy::MixRescale(shared.rescale(), last_block);
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] *= rescale;
    const int first_key = warp * (kBlockKeys / kWarps);
    const bool rope = chunk >= Policy::Format::kCodes / 16;
    if (Policy::MixesChunk(chunk) && (!rope || Policy::MixesRope())) {
      for (int k = first_key; k < first_key + kBlockKeys / kWarps; ++k) {
        const PageToken mixed_token = {rows[k], entries[k]};
        if (mixed_token.row == nullptr) continue;
        const float weight = scores[k];
        ForChunk<Policy>(
            mixed_token, chunk, params.v_ends,
            [&](int i, float value) { sums[i] += weight * value; });
      }
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
simt::LaunchResult LaunchPageDecode(const DecodeParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  return LaunchSplits<Policy>(params, stream, schedule,
                              DecodePageSplit<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CUH_
