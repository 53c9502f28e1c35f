// The decode: softmax(q . k) v over the rows that an index list names.
//
// How it works. The candidates of a row of indices form blocks of 64; a split
// is a run of blocks. DecodeSplit gives one split of one query and head to a
// block of 128 lanes:
//   1. q goes to shared memory, in the form the arithmetic wants.
//   2. For each block of keys, two lanes share a key: two tiles and half of
//      the rope each. A candidate that is masked reads no cache memory.
//   3. One warp updates the running maximum and sum in base 2 and turns scores
//      into weights, rounded as the arithmetic says.
//   4. Each warp mixes 16 keys, each of its lanes 16 columns.
//   5. At the end the warps' shares are added and divided by the sum: the
//      split's output and LSE, which a split without keys has as 0 and -Inf.
// MergeSplits weighs the splits by their LSE, adds the sink and stores.
//
// All is fp32; compile with -ffp-contract=off or -fmad=false. No lane depends
// on the order in which lanes run, and the order of every sum is fixed.
//
// DecodePolicy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_DECODE_DECODE_CUH_
#define MLAFUZZ_KERNELS_DECODE_DECODE_CUH_

#include <cmath>
#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/decode/arithmetic.cuh"
#include "kernels/decode/params.h"
#include "kernels/decode/scale.cuh"
#include "kernels/layout.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2 = 0.693147180559945309417f;

// One row of the outputs.
struct DecodeOutput {
  std::int64_t query;
  std::int64_t head;
};

// 2^(x - max) for x <= max, both possibly infinite. -Inf stands for nothing.
__device__ inline float Weight(float x, float max) {
  if (x == -INFINITY) return 0.0f;
  return x == max ? 1.0f : exp2f(x - max);
}

struct DecodePolicy {
  using Arithmetic = Bf16Arithmetic;

  // Host: candidates a row.
  static std::int64_t Lanes(const DecodeParams& params) { return params.width; }

  // ------------------------------------------------------------- Candidates

  // The outputs in the order of the grid, queries slowest.
  static __device__ DecodeOutput OutputAt(const DecodeParams& params,
                                          std::int64_t i) {
    return {i / params.heads, i % params.heads};
  }

  // The first block of a split, where the even cut would have it begin.
  static __device__ std::int64_t FirstBlock(std::int64_t cut) { return cut; }

  static __device__ std::int32_t Slot(const DecodeParams& params,
                                      std::int64_t query, std::int64_t lane) {
    return params.indices[query * params.indices_row_stride + lane];
  }

  // Candidates at or past this one are masked, whatever they hold.
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    return params.lengths == nullptr
               ? params.lanes
               : params.lengths[query * params.lengths_stride];
  }

  static __device__ bool IsKey(std::int32_t slot, std::int64_t lane,
                               std::int64_t length) {
    return lane < length && slot >= 0;
  }

  // Byte of the cache row in a slot.
  static __device__ std::int64_t RowAt(const DecodeParams& params,
                                       std::int32_t slot) {
    return slot / params.page_size * params.page_stride +
           slot % params.page_size * params.row_stride;
  }

  // Of a candidate that is no key: the score it enters the softmax with, and
  // the byte of the row that is read in its place (negative: none is).
  static __device__ float MaskedScore() { return -INFINITY; }
  static __device__ std::int64_t MaskedRow(const DecodeParams&, std::int32_t) {
    return -1;
  }

  // ------------------------------------------------------ Logits and values

  // The tile whose stored scale goes with the codes of `tile`.
  static __device__ int QkScaleTile(int tile) { return tile; }
  static __device__ int VScaleTile(int tile) { return tile; }

  static __device__ float QkScale(const DecodeParams& params, float stored) {
    return ReadScale(params.qk_scale, stored);
  }
  static __device__ float VScale(const DecodeParams& params, float stored) {
    return ReadScale(params.v_scale, stored);
  }

  // Whether a tile is part of the logits.
  static __device__ bool MeetsTile(int) { return true; }

  // The column of q that meets the first value of a row's tail; negative: the
  // tail is ignored.
  static __device__ int TailMeets(const DecodeParams& params) {
    return params.rope ? kLatent : -1;
  }

  // Which half of those 64 columns of q meets half of the tail; negative: none.
  static __device__ int QueryHalf(int half) { return half; }

  // Whether the lanes that mix values take 16 columns, the chunk of that
  // number.
  static __device__ bool MixesChunk(int) { return true; }

  // ---------------------------------------------------------------- Softmax

  // All lanes, between the scores' stores and their use.
  static __device__ void ScoresStaged() { __syncthreads(); }
  // All lanes, between the weights' stores and their use.
  static __device__ void WeightsStaged() { __syncthreads(); }
  // All lanes, before the next block's keys take the place of these, of which
  // the warp has mixed 16 from `first_key` on.
  static __device__ void BlockMixed(const SplitMemory&, int /*first_key*/) {
    __syncthreads();
  }

  // Of the two scores of a lane.
  static __device__ float LaneMax(float first, float second) {
    return fmaxf(first, second);
  }
  static __device__ float RunningMax(float max) { return max; }

  // What is subtracted from scores when the running maximum is `max`: -Inf,
  // which stands for no key so far, would give -Inf - -Inf.
  static __device__ float Reference(float max) {
    return max == -INFINITY ? 0.0f : max;
  }

  // The weight of a key of the block before it is rounded; only the first
  // `live` candidates of the block lie within the query's length.
  static __device__ float KeyWeight(const SplitMemory&, int, std::int64_t,
                                    float weight) {
    return weight;
  }

  // What the sum takes of a weight.
  static __device__ float SummedWeight(float exact, float) { return exact; }

  // The factors on the sum of weights, and on what has been mixed.
  static __device__ float SumRescale(float rescale) { return rescale; }
  static __device__ float MixRescale(float rescale, bool /*last_block*/) {
    return rescale;
  }

  // ---------------------------------------------------------- Splits, merge

  // A split's value. No weight at all: 0, not 0 / 0.
  static __device__ float SplitValue(float mixed, float sum) {
    return sum == 0.0f ? 0.0f : __fdiv_rn(mixed, sum);
  }
  static __device__ float SplitLse(float max, float sum) {
    return max + log2f(sum);
  }
  // Whether a split with that sum leaves anything for the merge.
  static __device__ bool LeavesPartial(float) { return true; }

  static __device__ std::int64_t MergedSplits(const DecodeParams& params) {
    return params.splits;
  }

  // Of a split with that LSE, where `max` is the largest of all.
  static __device__ float SplitWeight(float lse, float max) {
    return Weight(lse, max);
  }

  // The head's sink in base 2; -Inf: none.
  static __device__ float Sink(const DecodeParams& params, std::int64_t head) {
    if (params.sinks == nullptr) return -INFINITY;
    return params.sinks[head * params.sinks_stride] * kLog2E;
  }

  static __device__ float LseToStore(const DecodeParams& params, float lse) {
    return params.lse_base_e ? lse * kLn2 : lse;
  }

  static __device__ unsigned ToOutput(float value) {
    return FloatToBf16(value);
  }

  // Whether a row's output and LSE are stored; `keys` is the weight of its
  // keys.
  static __device__ bool StoresOutput(const DecodeParams&, const DecodeOutput&,
                                      float) {
    return true;
  }
  static __device__ bool StoresLse(const DecodeParams&, float) { return true; }

  // All lanes, when each has stored four columns at `out`.
  static __device__ void OutputStored(const DecodeParams&, std::uint16_t*) {}
};

// ---------------------------------------------------------------------- Splits

// Blocks of a query's candidates: of its index row, then of a second one.
__host__ __device__ inline std::int64_t BlocksOf(const DecodeParams& params) {
  return (params.lanes + kBlockKeys - 1) / kBlockKeys +
         (params.extra_lanes + kBlockKeys - 1) / kBlockKeys;
}

// Blocks first .. last - 1.
struct BlockRange {
  std::int64_t first;
  std::int64_t last;
};

// Those of a split, of a query's `blocks`.
template <class Policy>
__device__ __forceinline__ BlockRange SplitBlocks(const DecodeParams& params,
                                                  std::int64_t split,
                                                  std::int64_t blocks) {
  const std::int64_t per_split = params.blocks_per_split;
  const std::int64_t first = Policy::FirstBlock(
      per_split > 0 ? split * per_split : split * blocks / params.splits);
  const std::int64_t end = per_split > 0 ? (split + 1) * per_split
                                         : (split + 1) * blocks / params.splits;
  return {first, end < blocks ? end : blocks};
}

// Byte of the row that candidate `lane` of the query reads, and whether it is a
// key.
template <class Policy>
__device__ inline std::int64_t CandidateRow(const DecodeParams& params,
                                            std::int64_t query,
                                            std::int64_t length,
                                            std::int64_t lane, bool* is_key) {
  *is_key = false;
  if (lane >= params.lanes) return -1;
  const std::int32_t slot = Policy::Slot(params, query, lane);
  if (!Policy::IsKey(slot, lane, length)) {
    return Policy::MaskedRow(params, slot);
  }
  *is_key = true;
  return Policy::RowAt(params, slot);
}

// 32 rope values against 32 of q; half the tail.
__device__ inline float HalfTailDot(const uint4* tail, const float* q) {
  float part[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) {
    const uint4 chunk = tail[i];
    const float4 low = FourOf(q + 8 * i);
    const float4 high = FourOf(q + 8 * i + 4);
    part[0] += low.x * Bf16ToFloat(chunk.x & 0xffffu);
    part[1] += low.y * __uint_as_float(chunk.x & 0xffff0000u);
    part[2] += low.z * Bf16ToFloat(chunk.y & 0xffffu);
    part[3] += low.w * __uint_as_float(chunk.y & 0xffff0000u);
    part[0] += high.x * Bf16ToFloat(chunk.z & 0xffffu);
    part[1] += high.y * __uint_as_float(chunk.z & 0xffff0000u);
    part[2] += high.z * Bf16ToFloat(chunk.w & 0xffffu);
    part[3] += high.w * __uint_as_float(chunk.w & 0xffff0000u);
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

// Half of q . k: tiles 2 half and 2 half + 1, and half of the tail.
template <class Policy>
__device__ inline float HalfDot(const DecodeParams& params,
                                const SplitMemory& shared,
                                const std::uint8_t* row, int half) {
  float dot = 0.0f;
  for (int tile = 2 * half; tile < 2 * half + 2; ++tile) {
    if (!Policy::MeetsTile(tile)) continue;
    dot += Policy::Arithmetic::template TileDot<Policy>(
        reinterpret_cast<const uint4*>(row + tile * kTile),
        shared.q + tile * kTile, shared.q_scale[tile],
        Policy::QkScale(params, StoredScale(row, Policy::QkScaleTile(tile))));
  }
  const int column = Policy::TailMeets(params);
  const int query_half = Policy::QueryHalf(half);
  if (column >= 0 && query_half >= 0) {
    dot += HalfTailDot(reinterpret_cast<const uint4*>(row + kTailAt) + 4 * half,
                       shared.q + column + kRope / 2 * query_half);
  }
  return dot;
}

// The softmax so far, which the lanes of warp 0 carry along.
struct RunningSoftmax {
  float max;  // base 2
  float sum;  // of weights relative to it
};

// Scores to weights relative to the new running maximum; their sum takes them
// in fp32. The first `live` candidates of the block lie within the query's
// length. One warp.
template <class Policy>
__device__ inline void UpdateSoftmax(const SplitMemory& shared,
                                     std::int64_t live,
                                     RunningSoftmax& running) {
  using Arithmetic = typename Policy::Arithmetic;
  const int lane = static_cast<int>(threadIdx.x);
  const float first = shared.scores[lane];
  const float second = shared.scores[lane + 32];
  float max = Policy::LaneMax(first, second);
  for (int distance = 16; distance > 0; distance /= 2) {
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, distance));
  }
  max = Policy::RunningMax(fmaxf(max, running.max));
  const float reference = Policy::Reference(max);
  const float weights[2] = {
      Policy::KeyWeight(shared, lane, live, exp2f(first - reference)),
      Policy::KeyWeight(shared, lane + 32, live, exp2f(second - reference))};
  const float rounded[2] = {Arithmetic::Weight(weights[0]),
                            Arithmetic::Weight(weights[1])};
  shared.scores[lane] = rounded[0];
  shared.scores[lane + 32] = rounded[1];
  float sum = Policy::SummedWeight(weights[0], rounded[0]) +
              Policy::SummedWeight(weights[1], rounded[1]);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  const float rescale = exp2f(running.max - reference);
  running.sum = running.sum * Policy::SumRescale(rescale) + sum;
  running.max = max;
  if (lane == 0) shared.rescale() = rescale;
}

// The number of a block of keys, or of a split, among all traced ones.
__device__ inline std::int64_t TracedBlock(const DecodeParams& params,
                                           std::int64_t block) {
  return blockIdx.x / params.splits * params.trace_blocks + block;
}

// Adds the warps' shares; lane t stores columns 4 t .. 4 t + 3.
template <class Policy>
__device__ inline void StorePartial(const DecodeParams& params,
                                    const SplitMemory& shared,
                                    std::int64_t split) {
  if (!Policy::LeavesPartial(shared.sum())) return;
  const unsigned lane = threadIdx.x;
  float values[4] = {0, 0, 0, 0};
  for (int warp = 0; warp < kWarps; ++warp) {
    const float4 share = FourOf(shared.mixed[warp] + 4 * lane);
    values[0] += share.x;
    values[1] += share.y;
    values[2] += share.z;
    values[3] += share.w;
  }
  if (params.trace_scores != nullptr) {
    const std::int64_t traced = TracedBlock(params, split % params.splits);
    for (int i = 0; i < 4; ++i) {
      params.trace_accumulators[traced * kLatent + 4 * lane + i] = values[i];
    }
    if (lane == 0) {
      params.trace_split_lse[traced] = shared.max() + log2f(shared.sum());
    }
  }
  const std::int64_t at = split * kLatent + 4 * lane;
  for (int i = 0; i < 4; ++i) {
    const float value = Policy::SplitValue(values[i], shared.sum());
    if (params.bf16_partials) {
      static_cast<std::uint16_t*>(params.partials)[at + i] =
          static_cast<std::uint16_t>(FloatToBf16(value));
    } else {
      static_cast<float*>(params.partials)[at + i] = value;
    }
  }
  if (lane == 0) {
    params.partial_lse[split] = Policy::SplitLse(shared.max(), shared.sum());
  }
}

// All lanes, with what each has mixed: 16 columns of its warp's keys.
template <class Policy>
__device__ __forceinline__ void FinishSplit(const DecodeParams& params,
                                            const SplitMemory& shared,
                                            const float (&sums)[16],
                                            const RunningSoftmax& running) {
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = lane / 32;
  const int chunk = lane % 32;
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

// One block a split, of 128 lanes; splits count fastest, then heads.
template <class Policy>
__global__ void __launch_bounds__(kDecodeLanes)
    DecodeSplit(DecodeParams params) {
  __shared__ __align__(16) float q[kLatent + kRope];
  __shared__ float q_scale[kTiles];
  __shared__ float scores[kBlockKeys];
  __shared__ std::int64_t rows[kBlockKeys];
  __shared__ float weights[kTiles][kBlockKeys];
  __shared__ float weight_scale[kTiles];
  __shared__ float softmax[3];
  __shared__ __align__(16) float mixed[kWarps][kLatent];
  const SplitMemory shared = {q,       q_scale,      scores,  rows,
                              weights, weight_scale, softmax, mixed};
  using Arithmetic = typename Policy::Arithmetic;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t split = blockIdx.x % params.splits;
  const auto [query, head] =
      Policy::OutputAt(params, blockIdx.x / params.splits);
  Arithmetic::StageQuery(
      params,
      params.q + query * params.q_query_stride + head * params.q_head_stride,
      shared);
  RunningSoftmax running = {Policy::MaskedScore(), 0.0f};
  __syncthreads();
  const BlockRange blocks = SplitBlocks<Policy>(
      params, split, (params.lanes + kBlockKeys - 1) / kBlockKeys);
  const std::int64_t length = Policy::Length(params, query);
  const int warp = lane / 32;
  const int chunk = lane % 32;  // of 16 columns
  float sums[16] = {};
  for (std::int64_t block = blocks.first; block < blocks.last; ++block) {
    const int key = lane / 2;
    bool is_key;
    const std::int64_t row = CandidateRow<Policy>(
        params, query, length, block * kBlockKeys + key, &is_key);
    float dot = 0.0f;
    if (row >= 0) {
      dot = HalfDot<Policy>(params, shared, params.cache + row, lane % 2);
    }
    dot += __shfl_xor_sync(0xffffffffu, dot, 1);
    if (lane % 2 == 0) {
      const float score = is_key ? dot * params.scale_log2
                          : block * kBlockKeys + key < params.lanes
                              ? Policy::MaskedScore()
                              : -INFINITY;
      shared.rows[key] = row;
      shared.scores[key] = score;
      if (params.trace_scores != nullptr) {
        params.trace_scores[TracedBlock(params, block) * kBlockKeys + key] =
            score;
      }
    }
    Policy::ScoresStaged();
    simt::Perturb(params.timing, 0);
    if (warp == 0) {
      UpdateSoftmax<Policy>(shared, length - block * kBlockKeys, running);
    }
    Policy::WeightsStaged();
    simt::Perturb(params.timing, 1);
    if (params.trace_scores != nullptr) {
      const std::int64_t traced = TracedBlock(params, block);
      if (lane < kBlockKeys) {
        params.trace_weights[traced * kBlockKeys + lane] = shared.scores[lane];
      }
      if (lane == 0) {
        params.trace_maxima[traced] = running.max;
        params.trace_sums[traced] = running.sum;
      }
    }
    Arithmetic::template StageWeights<Policy>(params, shared);
    const bool last_block = block + 1 == blocks.last;
    const float rescale = Policy::MixRescale(shared.rescale(), last_block);
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] *= rescale;
    const int first_key = warp * (kBlockKeys / kWarps);
    if (Policy::MixesChunk(chunk)) {
      Arithmetic::template Mix<Policy>(params, shared, first_key, chunk, sums);
    }
    simt::Perturb(params.timing, 2);
    if (!last_block) Policy::BlockMixed(shared, first_key);
  }
  FinishSplit<Policy>(params, shared, sums, running);
}

// ----------------------------------------------------------------------- Merge

// One block a query and head, of 128 lanes; lane t has columns 4 t .. 4 t + 3.
template <class Policy>
__global__ void __launch_bounds__(kDecodeLanes)
    MergeSplits(DecodeParams params) {
  const unsigned lane = threadIdx.x;
  const DecodeOutput output = {blockIdx.x / params.heads,
                               blockIdx.x % params.heads};
  const std::int64_t first = blockIdx.x * params.splits;
  const std::int64_t splits = Policy::MergedSplits(params);
  float max = -INFINITY;
  for (std::int64_t i = 0; i < splits; ++i) {
    max = fmaxf(max, params.partial_lse[first + i]);
  }
  float values[4] = {0, 0, 0, 0};
  float keys = 0.0f;  // weight of all keys, relative to 2^max
  for (std::int64_t i = 0; i < splits; ++i) {
    const float weight =
        Policy::SplitWeight(params.partial_lse[first + i], max);
    keys += weight;
    const std::int64_t at = (first + i) * kLatent + 4 * lane;
    for (int c = 0; c < 4; ++c) {
      const float partial =
          params.bf16_partials
              ? Bf16ToFloat(
                    static_cast<const std::uint16_t*>(params.partials)[at + c])
              : static_cast<const float*>(params.partials)[at + c];
      values[c] += weight * partial;
    }
  }
  // The sink may be far above the keys, or below: relative to the larger.
  const float sink = Policy::Sink(params, output.head);
  const float top = fmaxf(max, sink);
  const float share = Weight(max, top);
  const float all = keys * share + Weight(sink, top);
  if (!Policy::StoresOutput(params, output, keys)) return;
  std::uint16_t* out = params.out + output.query * params.out_query_stride +
                       output.head * params.out_head_stride + 4 * lane;
  for (int c = 0; c < 4; ++c) {
    const float value = keys == 0.0f ? 0.0f : __fdiv_rn(values[c] * share, all);
    out[c] = static_cast<std::uint16_t>(Policy::ToOutput(value));
  }
  Policy::OutputStored(params, out);
  if (lane != 0 || !Policy::StoresLse(params, keys)) return;
  float lse = params.sink_in_lse ? top + log2f(all) : max + log2f(keys);
  if (lse == -INFINITY && params.empty_plus_inf) lse = INFINITY;
  params.lse[output.query * params.lse_query_stride +
             output.head * params.lse_head_stride] =
      Policy::LseToStore(params, lse);
}

// ---------------------------------------------------------------------- Launch

// Splits of all lanes as asked for, 0 being one for each 8 blocks, of which
// the last may have fewer. More than there are blocks would only be empty ones.
inline void SetSplits(DecodeParams& params, std::int64_t asked) {
  const std::int64_t blocks = BlocksOf(params);
  params.blocks_per_split = asked == 0 ? kBlocksPerSplit : 0;
  params.splits = asked == 0 ? (blocks + kBlocksPerSplit - 1) / kBlocksPerSplit
                             : (asked < blocks ? asked : blocks);
}

// queries * heads * splits blocks at least 1 and below 2^31; without splits
// (no candidates) only the merge runs. `kernel`: what works on one split.
template <class Policy, class Kernel>
simt::LaunchResult LaunchSplits(const DecodeParams& params, simt::Stream stream,
                                simt::Schedule schedule, const Kernel& kernel) {
  simt::Config config;
  config.block = dim3(kDecodeLanes);
  config.stream = stream;
  config.schedule = schedule;
  const std::int64_t outputs = params.queries * params.heads;
  if (params.splits > 0) {
    config.grid = dim3(static_cast<unsigned>(outputs * params.splits));
    simt::LaunchResult result = simt::launch(config, kernel, params);
    if (!result.ok()) return result;
  }
  config.grid = dim3(static_cast<unsigned>(outputs));
  return simt::launch(config, MergeSplits<Policy>, params);
}

template <class Policy>
simt::LaunchResult LaunchDecode(const DecodeParams& params, simt::Stream stream,
                                simt::Schedule schedule) {
  return LaunchSplits<Policy>(params, stream, schedule, DecodeSplit<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_DECODE_CUH_
