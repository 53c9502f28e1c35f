// Index conversion of a batch that holds prefills: rows of a prefill request
// address a workspace into which a gather has put its keys, rows of decodes
// the paged cache.
//
//   prefill:  out = start[prefill request] + token
//   decode:   out = table[request, token / page] * page + token % page
//
// or -1 where the token is negative or its column past the block table, of
// prefills too (vllm-project/vllm vllm/v1/attention/backends/mla/
// sparse_utils.py @02a26fa0). Where that kernel's product wraps in int32, this
// one has -1: no slot is beyond 2^31.
//
// One warp a row: it takes 32 entries at a time and counts by votes.
//
// WorkspacePolicy holds the decisions. A wrong twin derives from it and
// overrides one.
#ifndef MLAFUZZ_KERNELS_WORKSPACE_CUH_
#define MLAFUZZ_KERNELS_WORKSPACE_CUH_

#include <cstdint>

#include "kernels/params.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

struct WorkspacePolicy {
  // The prefill request of a row; negative: it is a decode's.
  static __device__ std::int32_t Prefill(const ConvertParams& params,
                                         std::int64_t row) {
    return params.prefill_ids == nullptr ? -1 : params.prefill_ids[row];
  }

  // Where the request of a row begins in the workspace.
  static __device__ std::int32_t Start(const ConvertParams& params,
                                       std::int64_t /*row*/,
                                       std::int32_t prefill) {
    return params.prefill_starts[prefill];
  }

  static __device__ bool HasColumn(const ConvertParams& params,
                                   std::int64_t column, bool /*prefill*/) {
    return column < params.table_columns;
  }

  // The slot of a token in `page`; false: there is none.
  static __device__ bool Slot(const ConvertParams& params, std::int32_t page,
                              std::int64_t token, std::int32_t* slot) {
    const std::int64_t wide =
        std::int64_t{page} * params.page_size + token % params.page_size;
    *slot = static_cast<std::int32_t>(wide);
    return wide >= 0 && wide <= INT32_MAX;
  }
};

template <class Policy>
__global__ void __launch_bounds__(32) WorkspaceRows(ConvertParams params) {
  const std::int64_t row = blockIdx.x;
  const unsigned lane = threadIdx.x;
  const std::int32_t prefill = Policy::Prefill(params, row);
  const std::int32_t* tokens = params.tokens + row * params.tokens_row_stride;
  const std::int32_t* table =
      params.table +
      std::int64_t{params.request_ids[row]} * params.table_row_stride;
  std::int32_t* out = params.out + row * params.out_row_stride;
  std::int32_t count = 0;
  for (std::int64_t base = 0; base < params.width; base += 32) {
    const std::int64_t i = base + lane;
    bool valid = false;
    if (i < params.width) {
      const std::int64_t token = tokens[i];
      const std::int64_t column = token / params.page_size;
      std::int32_t slot = -1;
      valid = token >= 0 && Policy::HasColumn(params, column, prefill >= 0);
      if (valid && prefill >= 0) {
        slot = static_cast<std::int32_t>(Policy::Start(params, row, prefill) +
                                         token);
      } else if (valid) {
        valid = Policy::Slot(params, table[column], token, &slot);
      }
      out[i] = valid ? slot : -1;
    }
    count += __popc(__ballot_sync(0xffffffffu, valid));
  }
  if (lane == 0 && params.valid_count != nullptr) {
    params.valid_count[row] = count;
  }
}

// There is at least one row.
template <class Policy>
simt::LaunchResult LaunchWorkspace(const ConvertParams& params,
                                   simt::Stream stream,
                                   simt::Schedule schedule) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.rows));
  config.block = dim3(32);
  config.stream = stream;
  config.schedule = schedule;
  return simt::launch(config, WorkspaceRows<Policy>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_WORKSPACE_CUH_
