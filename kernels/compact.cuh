// Index conversion that compacts: the slots of a row's valid tokens first, in
// their order, then -1. A token of a request that the table has no row for, or
// of a column past the table, is invalid: both axes are bounded (DeepSeek-V4's
// compute_global_topk_indices_and_lens, vllm-project/vllm
// vllm/models/deepseek_v4/common/ops/cache_utils.py, by its test @4e9e566c).
//
// One warp a row: it takes 32 entries at a time and places them by votes.
//
// CompactPolicy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_COMPACT_CUH_
#define MLAFUZZ_KERNELS_COMPACT_CUH_

#include <cstdint>

#include "kernels/convert.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

struct CompactParams {
  ConvertParams convert;
  std::int64_t table_rows;
};

struct CompactPolicy {
  static __device__ bool HasRequest(const CompactParams& params,
                                    std::int64_t request) {
    return request >= 0 && request < params.table_rows;
  }
  static __device__ bool HasColumn(const CompactParams& params,
                                   std::int64_t column) {
    return column < params.convert.table_columns;
  }
  // Of 32 entries, whose valid ones are the bits of `valid`, those that count
  // as valid.
  static __device__ unsigned Kept(unsigned valid) { return valid; }
  // What an entry adds to its row's count.
  static __device__ bool Counts(bool valid, std::int64_t /*token*/) {
    return valid;
  }
  // Entries from `count` on name no slot.
  static __device__ void Fill(const CompactParams& params, std::int32_t* out,
                              std::int64_t count, unsigned lane) {
    for (std::int64_t i = count + lane; i < params.convert.width; i += 32) {
      out[i] = -1;
    }
  }
};

template <class Policy>
__global__ void __launch_bounds__(32) CompactRows(CompactParams params) {
  const ConvertParams& p = params.convert;
  const std::int64_t row = blockIdx.x;
  const unsigned lane = threadIdx.x;
  const std::int64_t request = p.request_ids[row];
  const bool known = Policy::HasRequest(params, request);
  const std::int32_t* tokens = p.tokens + row * p.tokens_row_stride;
  const std::int32_t* table =
      p.table + (known ? request : 0) * p.table_row_stride;
  std::int32_t* out = p.out + row * p.out_row_stride;
  std::int64_t placed = 0;
  std::int32_t count = 0;
  for (std::int64_t base = 0; base < p.width; base += 32) {
    const std::int64_t i = base + lane;
    bool valid = false, counts = false;
    std::int32_t slot = 0;
    if (i < p.width) {
      const std::int64_t token = tokens[i];
      const std::int64_t column = token / p.page_size;
      valid = known && token >= 0 && Policy::HasColumn(params, column);
      if (valid) slot = SlotOf(table[column], token % p.page_size, p.page_size);
      counts = Policy::Counts(valid, token);
    }
    const unsigned kept = Policy::Kept(__ballot_sync(0xffffffffu, valid));
    count += __popc(__ballot_sync(0xffffffffu, counts));
    if ((kept >> lane & 1) != 0) {
      out[placed + __popc(kept & ((1u << lane) - 1))] = slot;
    }
    placed += __popc(kept);
  }
  Policy::Fill(params, out, placed, lane);
  if (lane == 0 && p.valid_count != nullptr) p.valid_count[row] = count;
}

// There is at least one row.
template <class Policy>
simt::LaunchResult LaunchCompact(const CompactParams& params,
                                 simt::Stream stream, simt::Schedule schedule) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.convert.rows));
  config.block = dim3(32);
  config.stream = stream;
  config.schedule = schedule;
  return simt::launch(config, CompactRows<Policy>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_COMPACT_CUH_
