// Parameters of the decode kernels, as the device gets them.
#ifndef MLAFUZZ_KERNELS_DECODE_PARAMS_H_
#define MLAFUZZ_KERNELS_DECODE_PARAMS_H_

#include <cstdint>

namespace mlafuzz::kernels {

inline constexpr int kBlockKeys = 64;      // keys a step of the softmax
inline constexpr int kBlocksPerSplit = 8;  // unless the caller says
inline constexpr int kDecodeLanes = 128;   // lanes of a block
inline constexpr int kMaxHeads = 128;

// What a reader does to a stored tile scale; scale.cuh.
enum class ScaleRule : std::uint8_t {
  kRaw,        // as stored
  kPow2Floor,  // the exponent alone
  kBf16,       // rounded to bf16
};

// What a reader takes the ends of a UE8M0 scale for: byte 0 is 2^-127 or 0,
// byte 255 NaN or Inf.
struct Ue8m0Ends {
  bool zero_is_zero;
  bool last_is_inf;
};

struct DecodeParams {
  const std::uint8_t* cache;
  const std::uint16_t* q;       // bf16 [queries, heads, 512 + pe_dim]
  const std::int32_t* indices;  // [queries, width]
  const std::int32_t* lengths;  // [queries]; null: not given
  const float* sinks;           // [heads], natural-log units; null: none
  std::uint16_t* out;           // bf16 [queries, heads, 512]
  float* lse;                   // [queries, heads]
  // What a split leaves for the merge, [queries, heads, splits]: its output,
  // 512 values of fp32 or bf16, and its LSE in base 2.
  void* partials;
  float* partial_lse;

  std::int64_t queries;
  std::int64_t heads;
  std::int64_t lanes;             // candidates a row; see DecodePolicy::Lanes()
  std::int64_t width;             // of the index buffer
  std::int64_t declared_topk;     // 0: not declared
  std::int64_t splits;            // at most the number of blocks
  std::int64_t blocks_per_split;  // 0: the blocks are cut evenly
  std::int64_t q_query_stride;    // elements, as all but the cache's
  std::int64_t q_head_stride;
  std::int64_t indices_row_stride;
  std::int64_t lengths_stride;
  std::int64_t sinks_stride;
  std::int64_t out_query_stride;
  std::int64_t out_head_stride;
  std::int64_t lse_query_stride;
  std::int64_t lse_head_stride;
  std::int64_t page_stride;  // bytes
  std::int64_t row_stride;   // bytes
  std::int64_t page_size;    // rows

  // A second cache (page_decode.cuh); no lanes: none.
  const std::uint8_t* extra_cache;
  const std::int32_t* extra_indices;  // [queries, extra_lanes]
  const std::int32_t* extra_lengths;  // [queries]; null: not given
  std::int64_t extra_lanes;
  std::int64_t extra_indices_row_stride;
  std::int64_t extra_lengths_stride;
  std::int64_t extra_page_stride;  // bytes
  std::int64_t extra_page_size;    // rows

  std::uint64_t timing;  // simt::Perturb()

  // Null, or where stages leave what they compute (trace.h), which has this
  // many blocks an output.
  float* trace_scores;
  float* trace_weights;
  float* trace_maxima;
  float* trace_sums;
  float* trace_accumulators;
  float* trace_split_lse;
  std::int64_t trace_blocks;

  float scale_log2;  // softmax scale times log2(e)
  bool rope;         // q has 64 more columns, which meet the row's tail
  ScaleRule qk_scale;
  ScaleRule v_scale;
  Ue8m0Ends qk_ends;
  Ue8m0Ends v_ends;
  bool bf16_partials;
  bool lse_base_e;
  bool sink_in_lse;
  bool empty_plus_inf;  // LSE of a row without keys
};

}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PARAMS_H_
