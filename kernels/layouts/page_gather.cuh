// The gather of the layouts beside the 656-byte row: rows of the pool by block
// table, dequantised to bf16, rope bit for bit behind them. Tasks are found as
// in kernels/gather.cuh; one warp takes a row at a time.
//
// PageGatherPolicy holds the decisions. A wrong twin derives from it and
// overrides one.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_PAGE_GATHER_CUH_
#define MLAFUZZ_KERNELS_LAYOUTS_PAGE_GATHER_CUH_

#include <cstdint>

#include "kernels/gather.cuh"
#include "kernels/layouts/formats.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

template <class F>
struct PageGatherPolicy : GatherPolicy {
  using Format = F;

  static __device__ const std::uint8_t* Row(const GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    const std::int64_t stride =
        Format::kEntryBytes != 0 ? Format::kRowBytes : params.row_stride;
    return params.cache + page * params.page_stride + row * stride;
  }
  // Of what stands behind all rows of the page, or of the row.
  static __device__ const std::uint8_t* Entry(const GatherParams& params,
                                              std::int64_t page,
                                              std::int64_t row) {
    if (Format::kEntryBytes == 0) return Row(params, page, row);
    return params.cache + page * params.page_stride +
           params.page_size * Format::kRowBytes + row * Format::kEntryBytes;
  }

  // A scale byte is an exponent; 0 is 2^-127 and 255 NaN.
  static __device__ float Ue8m0(unsigned byte) {
    if (byte == 0) return __uint_as_float(0x00400000u);
    return byte == 255 ? __uint_as_float(0x7fc00000u)
                       : __uint_as_float(byte << 23);
  }
  template <class Policy>
  static __device__ float Scale(const std::uint8_t* entry, unsigned tile) {
    const std::uint8_t* at = entry + Format::kScaleAt;
    return Format::kUe8m0 ? Policy::Ue8m0(at[tile])
                          : reinterpret_cast<const float*>(at)[tile];
  }
  static __device__ unsigned TileOf(unsigned chunk) {
    return chunk / (Format::kTile / 8);
  }
};

// One block a task, up to kGatherWarps warps.
template <class Policy>
__global__ void __launch_bounds__(kGatherWarps * 32)
    GatherPages(GatherParams params) {
  using Format = typename Policy::Format;
  constexpr unsigned kScales = Format::kCodes / Format::kTile;
  __shared__ std::int64_t shared_task[4];
  __shared__ float shared_scales[kGatherWarps][kScales];
  const GatherTask task = BlockTask<Policy>(params, shared_task);
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  float* scales = shared_scales[warp];
  for (std::int64_t i = warp; i < task.count; i += warps) {
    const std::uint8_t* row = Policy::Row(params, task.page, task.offset + i);
    const std::uint8_t* entry =
        Policy::Entry(params, task.page, task.offset + i);
    std::uint16_t* out = params.dst + (task.first + i) * params.dst_row_stride;
    simt::Perturb(params.timing, 0);
    if (lane < kScales) {
      scales[lane] = Policy::template Scale<Policy>(entry, lane);
    }
    Policy::PublishScales();
    simt::Perturb(params.timing, 1);
    for (unsigned chunk = lane; chunk < Format::kCodes / 8; chunk += 32) {
      const uint2 codes = reinterpret_cast<const uint2*>(row)[chunk];
      const float scale = scales[Policy::TileOf(chunk)];
      StoreChunk<Policy>(out, chunk, codes, scale);
    }
    if (Format::kRope != 0) {
      reinterpret_cast<unsigned*>(out + Format::kCodes)[lane] =
          reinterpret_cast<const unsigned*>(row + Format::kCodes)[lane];
    }
    Policy::ReleaseScales();
  }
}

// As LaunchGather().
template <class Policy>
simt::LaunchResult LaunchPageGather(const GatherParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  return LaunchTasks<Policy>(params, stream, schedule, GatherPages<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_PAGE_GATHER_CUH_
