// Gathers that do not take tile scales: of rows as bytes, whatever they mean
// (vllm-project/vllm cp_gather_cache), and of E4M3 codes under one scale for
// the whole cache (vllm-project/vllm gather_and_maybe_dequant_cache). Tasks are
// found as in kernels/gather.cuh; one warp takes a row at a time.
//
// Each policy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHERS_CUH_
#define MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHERS_CUH_

#include <cstdint>

#include "corpus/types.pb.h"
#include "kernels/gather.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// Columns of a row under one scale: latent and rope, all of them codes.
inline constexpr int kOneScaleColumns = 576;

// A token's bytes: `kRow` in its row, `kEntry` behind all rows of its page.
template <Layout kId, int kRow, int kEntry>
struct ByteGatherPolicy : GatherPolicy {
  static constexpr Layout kLayout = kId;
  static constexpr int kRowBytes = kRow;
  static constexpr int kTokenBytes = kRow + kEntry;

  // Where byte `at` of token `row` of a page lies.
  static __device__ const std::uint8_t* Byte(const GatherParams& params,
                                             std::int64_t page,
                                             std::int64_t row,
                                             std::int64_t at) {
    const std::uint8_t* begin = params.cache + page * params.page_stride;
    if (kEntry == 0) return begin + row * params.row_stride + at;
    return at < kRow
               ? begin + row * kRow + at
               : begin + params.page_size * kRow + row * kEntry + (at - kRow);
  }
};

// Codes of a row of 576 bytes under the call's scale.
struct OneScaleGatherPolicy : GatherPolicy {
  static __device__ float Scale(const GatherParams& params) {
    return params.tensor_scale;
  }
};

// One block a task, up to kGatherWarps warps. dst is uint8: a byte a lane.
template <class Policy>
__global__ void __launch_bounds__(kGatherWarps * 32)
    GatherBytes(GatherParams params) {
  __shared__ std::int64_t shared_task[4];
  const GatherTask task = ShareTask<Policy>(params, blockIdx.x, 0, shared_task);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  auto* dst = reinterpret_cast<std::uint8_t*>(params.dst);
  for (std::int64_t i = threadIdx.x / 32; i < task.count; i += warps) {
    std::uint8_t* out = dst + (task.first + i) * params.dst_row_stride;
    simt::Perturb(params.timing, 0);
    for (unsigned at = lane; at < Policy::kTokenBytes; at += 32) {
      out[at] = *Policy::Byte(params, task.page, task.offset + i, at);
    }
  }
}

template <class Policy>
__global__ void __launch_bounds__(kGatherWarps * 32)
    GatherOneScale(GatherParams params) {
  __shared__ std::int64_t shared_task[4];
  const GatherTask task = ShareTask<Policy>(params, blockIdx.x, 0, shared_task);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  const float scale = Policy::Scale(params);
  for (std::int64_t i = threadIdx.x / 32; i < task.count; i += warps) {
    const std::uint8_t* row = Policy::Row(params, task.page, task.offset + i);
    std::uint16_t* out = params.dst + (task.first + i) * params.dst_row_stride;
    simt::Perturb(params.timing, 0);
    for (unsigned chunk = lane; chunk < kOneScaleColumns / 8; chunk += 32) {
      const uint2 codes = reinterpret_cast<const uint2*>(row)[chunk];
      StoreChunk<Policy>(out, chunk, codes, scale);
    }
  }
}

// As LaunchGather().
template <class Policy>
simt::LaunchResult LaunchByteGather(const GatherParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  return LaunchTasks<Policy>(params, stream, schedule, GatherBytes<Policy>);
}
template <class Policy>
simt::LaunchResult LaunchOneScaleGather(const GatherParams& params,
                                        simt::Stream stream,
                                        simt::Schedule schedule) {
  return LaunchTasks<Policy>(params, stream, schedule, GatherOneScale<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHERS_CUH_
