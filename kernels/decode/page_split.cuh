// One split of a decode over pages, in whatever arithmetic.
//
// As in decode.cuh candidates form blocks of 64, a split is a run of blocks,
// and one block of 128 lanes works on one split of one query and head. Blocks
// of the first index row come first; the second row begins with a block of its
// own. What differs is where things stand: a key has a row and an entry of
// scales, and the last of its 512 values may be rope, which goes into logits
// and output as it is.
//
// An arithmetic is a class with
//   StageQuery(q)                      q to shared memory; all lanes
//   HalfDot(token, half)               half of q . k, 256 columns; a lane
//   StageWeights()                     weights as they meet V; all lanes
//   Mix(first_key, chunk, rescale, sums)  the weighted values of 16 keys from
//                                      `first_key` on, columns of `chunk`, to
//                                      what was mixed before times `rescale`
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_SPLIT_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_SPLIT_CUH_

#include <cstdint>

#include "kernels/decode/decode.cuh"
#include "kernels/decode/page_policy.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// Shared memory of a split, beside SplitMemory: where the keys of a block
// stand, as PageToken.
struct PageMemory {
  const std::uint8_t** rows;     // [64]
  const std::uint8_t** entries;  // [64]

  __device__ PageToken Token(int key) const {
    return {rows[key], entries[key]};
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

// Sixteen codes of a token, chunk `chunk` of its 512 values, given to
// take(i, value(code)) in order; the code is the low byte of what value() gets.
template <class Value, class Take>
__device__ __forceinline__ void ForCodes(const PageToken& token, int chunk,
                                         const Value& value, const Take& take) {
  const uint4 codes = reinterpret_cast<const uint4*>(token.row)[chunk];
  const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
#pragma unroll
    for (int i = 0; i < 4; ++i) take(4 * w + i, value(words[w] >> 8 * i));
  }
}

// The same of a chunk of rope.
template <class Policy, class Take>
__device__ __forceinline__ void ForRope(const PageToken& token, int chunk,
                                        const Take& take) {
  using Format = typename Policy::Format;
  const uint4* rope = reinterpret_cast<const uint4*>(
      token.row + Format::kCodes + 32 * (chunk - Format::kCodes / 16));
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

// By all lanes of a block; leaves the split's partial output and LSE.
template <class Policy, class Arithmetic>
__device__ __forceinline__ void DecodePages(const DecodeParams& params,
                                            const SplitMemory& shared,
                                            const PageMemory& tokens,
                                            const Arithmetic& arithmetic) {
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t split = blockIdx.x % params.splits;
  const auto [query, head] =
      Policy::OutputAt(params, blockIdx.x / params.splits);
  arithmetic.StageQuery(params.q + query * params.q_query_stride +
                        head * params.q_head_stride);
  RunningSoftmax running = {Policy::MaskedScore(), 0.0f};
  __syncthreads();
  const std::int64_t first_blocks =
      (params.lanes + kBlockKeys - 1) / kBlockKeys;
  const BlockRange blocks =
      SplitBlocks<Policy>(params, split, BlocksOf(params));
  const std::int64_t length = Policy::Length(params, query);
  const std::int64_t extra_length =
      params.extra_lanes > 0 ? Policy::ExtraLength(params, query) : 0;
  const int warp = lane / 32;
  const int chunk = lane % 32;  // of 16 columns
  float sums[16] = {};
  for (std::int64_t block = blocks.first; block < blocks.last; ++block) {
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
    if (token.row != nullptr) dot = arithmetic.HalfDot(token, lane % 2);
    dot += __shfl_xor_sync(0xffffffffu, dot, 1);
    if (lane % 2 == 0) {
      tokens.rows[key] = token.row;
      tokens.entries[key] = token.entry;
      shared.scores[key] = is_key                     ? dot * params.scale_log2
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
    arithmetic.StageWeights();
    const bool last_block = block + 1 == blocks.last;
    const float rescale = Policy::MixRescale(shared.rescale(), last_block);
    const int first_key = warp * (kBlockKeys / kWarps);
    arithmetic.Mix(first_key, chunk, rescale, sums);
    simt::Perturb(params.timing, 2);
    if (!last_block) Policy::BlockMixed(shared, first_key);
  }
  FinishSplit<Policy>(params, shared, sums, running);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_SPLIT_CUH_
