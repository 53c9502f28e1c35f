// The writer with 8 lanes of 16 values for a tile, as Kimi-K3's dense MLA ops
// map it (vllm-project/vllm @e4f5666b, by its test): rows of bf16 or fp16
// latent and rope values into slots of the 656-byte pool, byte for byte those
// of writer.cuh.
//
// One block a token: 32 lanes for the latent, 32 for rope or tail. The policy
// is WriterPolicy or derived from it; its StoreCodes() takes half a lane's
// codes at a time.
#ifndef MLAFUZZ_KERNELS_WRITER_BY16_CUH_
#define MLAFUZZ_KERNELS_WRITER_BY16_CUH_

#include "kernels/writer.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

struct WriterBy16Policy : WriterPolicy {
  // Of eight lanes' maxima, the tile's.
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 4; distance > 0; distance /= 2) {
      amax = Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 8));
    }
    return amax;
  }

  // Largest magnitude of a lane's two halves, eight values each.
  template <class Policy, class Input>
  static __device__ float LaneMax(const uint4 (&halves)[2]) {
    float amax = 0.0f;
    for (const uint4& half : halves) {
      amax = PairMax<Policy, Input>(amax, half.x);
      amax = PairMax<Policy, Input>(amax, half.y);
      amax = PairMax<Policy, Input>(amax, half.z);
      amax = PairMax<Policy, Input>(amax, half.w);
    }
    return amax;
  }
};

template <class Policy, class Input>
__global__ void __launch_bounds__(64) WriteRowsBy16(WriterParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot = params.slots[token];
  if (Policy::Skips(slot)) return;
  std::uint8_t* row = Policy::Row(params, slot);
  const unsigned lane = threadIdx.x;
  simt::Perturb(params.timing, 0);
  if (lane >= 32) {
    Policy::WriteTail(params, token, row, lane - 32);
    return;
  }
  const uint4* from = reinterpret_cast<const uint4*>(
      params.kv_c + token * params.kv_c_row_stride);
  const uint4 values[2] = {from[2 * lane], from[2 * lane + 1]};
  const float amax = Policy::template TileMax<Policy>(
      Policy::template LaneMax<Policy, Input>(values));
  const float scale = Policy::template Scale<Policy>(amax, params.pow2_scale);
  for (unsigned half = 0; half < 2; ++half) {
    const uint4& v = values[half];
    Policy::StoreCodes(row, 2 * lane + half,
                       make_uint2(FourCodes<Policy, Input>(v.x, v.y, scale),
                                  FourCodes<Policy, Input>(v.z, v.w, scale)));
  }
  simt::Perturb(params.timing, 1);
  if (lane % 8 == 0) Policy::StoreScale(row, lane / 8, scale);
}

// `params.tokens` is at least 1.
template <class Policy>
simt::LaunchResult LaunchWriterBy16(const WriterParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.tokens));
  config.block = dim3(64);
  config.stream = stream;
  config.schedule = schedule;
  return params.fp16
             ? simt::launch(config, WriteRowsBy16<Policy, Fp16Input>, params)
             : simt::launch(config, WriteRowsBy16<Policy, Bf16Input>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_WRITER_BY16_CUH_
