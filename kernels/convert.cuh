// Index conversion: token numbers of requests into slots of the pool.
//
//   out = table[request, token / page] * page + token % page
//
// or -1 where the token is negative or its column past the table. One block a
// row; its warps take 32 entries at a time and count the valid ones by votes.
//
// ConvertPolicy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_CONVERT_CUH_
#define MLAFUZZ_KERNELS_CONVERT_CUH_

#include <cstdint>

#include "kernels/params.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

inline constexpr int kConvertWarps = 4;

// The slot of a valid token. int32 as the indices are: a pool of more than
// 2^31 slots wraps around.
__device__ inline std::int32_t SlotOf(std::int32_t page, std::int64_t offset,
                                      std::int64_t page_size) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(page) *
                                       static_cast<std::uint32_t>(page_size) +
                                   static_cast<std::uint32_t>(offset));
}

struct ConvertPolicy {
  // What stands in the place of an index that names no slot.
  static __device__ std::int32_t Invalid() { return -1; }

  static __device__ std::int64_t Column(const ConvertParams& params,
                                        std::int64_t token) {
    return token / params.page_size;
  }

  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token >= 0 && column < params.table_columns;
  }

  // Of a valid token that lies in `page`.
  static __device__ std::int32_t Slot(const ConvertParams& params,
                                      std::int32_t page, std::int64_t token) {
    return SlotOf(page, token % params.page_size, params.page_size);
  }

  // `slot` is that of a valid token.
  template <class Policy>
  static __device__ void Store(std::int32_t* out, bool valid,
                               std::int32_t slot) {
    *out = valid ? slot : Policy::Invalid();
  }

  // What an index adds to its row's count.
  static __device__ bool Counts(bool valid, std::int64_t /*token*/) {
    return valid;
  }

  // Between the warps' counts and their sum.
  static __device__ void PublishCounts() { __syncthreads(); }
};

// One block a row, up to kConvertWarps warps.
template <class Policy>
__global__ void __launch_bounds__(kConvertWarps * 32)
    ConvertRows(ConvertParams params) {
  __shared__ std::int32_t counts[kConvertWarps];
  const std::int64_t row = blockIdx.x;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const std::int32_t* tokens = params.tokens + row * params.tokens_row_stride;
  const std::int32_t* table =
      params.table +
      std::int64_t{params.request_ids[row]} * params.table_row_stride;
  std::int32_t* out = params.out + row * params.out_row_stride;
  std::int32_t count = 0;
  for (std::int64_t base = warp * 32; base < params.width; base += blockDim.x) {
    const std::int64_t i = base + lane;
    bool counts = false;
    if (i < params.width) {
      const std::int64_t token = tokens[i];
      const std::int64_t column = Policy::Column(params, token);
      const bool valid = Policy::IsValid(params, token, column);
      Policy::template Store<Policy>(
          out + i, valid,
          valid ? Policy::Slot(params, table[column], token) : 0);
      counts = Policy::Counts(valid, token);
    }
    if (params.valid_count != nullptr) {
      count += __popc(__ballot_sync(0xffffffffu, counts));
    }
  }
  if (params.valid_count == nullptr) return;
  if (lane == 0) counts[warp] = count;
  Policy::PublishCounts();
  if (threadIdx.x != 0) return;
  std::int32_t total = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) total += counts[w];
  params.valid_count[row] = total;
}

// `params.rows` is at least 1.
template <class Policy>
simt::LaunchResult LaunchConvert(const ConvertParams& params,
                                 simt::Stream stream, simt::Schedule schedule) {
  const std::int64_t warps = (params.width + 31) / 32;
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.rows));
  config.block = dim3(
      static_cast<unsigned>(32 * (warps < 1               ? 1
                                  : warps < kConvertWarps ? warps
                                                          : kConvertWarps)));
  config.stream = stream;
  config.schedule = schedule;
  return simt::launch(config, ConvertRows<Policy>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_CONVERT_CUH_
