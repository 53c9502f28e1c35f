// The store of DeepSeek-V3.2's fused norm, rope and cache kernel (vllm-project/
// vllm vllm/models/deepseek_v32/nvidia/kernels.py @020505c2): rows of bf16
// latent and rope values into slots of the 656-byte pool. Its scale is
// amax * (1/448) where the native writer divides, floored at FLT_MIN, or
// rounded up to a power of two.
//
// Not the whole of it: norm and rope come before. Their values come as fp32,
// which is what that kernel quantises (WriteFp32Rows), or as bf16
// (WriteFusedRows). Triton's division by the scale need not be correctly
// rounded; this one is.
//
// One block a token, four warps, a warp a tile: each lane has four values. Then
// the first warp's lanes copy two rope values each.
#ifndef MLAFUZZ_KERNELS_FUSED_WRITER_CUH_
#define MLAFUZZ_KERNELS_FUSED_WRITER_CUH_

#include "kernels/writer.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

struct FusedWriterPolicy : WriterPolicy {
  // Of 32 lanes' maxima, the tile's.
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 16; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 32));
    }
    return amax;
  }

  static __device__ float DivideBy448(float amax) {
    return __fmul_rn(amax, 1.0f / 448.0f);
  }

  // What of an fp32 value is quantised: all of it.
  static __device__ float Fp32Value(float value) { return value; }

  // An fp32 rope value as it is stored: its bf16.
  static __device__ unsigned Fp32Rope(float value) {
    return FloatToBf16(value);
  }
};

template <class Policy>
__global__ void __launch_bounds__(128) WriteFusedRows(WriterParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot = params.slots[token];
  if (Policy::Skips(slot)) return;
  std::uint8_t* row = Policy::Row(params, slot);
  const unsigned lane = threadIdx.x;
  simt::Perturb(params.timing, 0);
  const uint2 values = reinterpret_cast<const uint2*>(
      params.kv_c + token * params.kv_c_row_stride)[lane];
  float amax = PairMax<Policy, Bf16Input>(0.0f, values.x);
  amax = PairMax<Policy, Bf16Input>(amax, values.y);
  amax = Policy::template TileMax<Policy>(amax);
  const float scale = Policy::template Scale<Policy>(amax, params.pow2_scale);
  reinterpret_cast<unsigned*>(row)[lane] =
      FourCodes<Policy, Bf16Input>(values.x, values.y, scale);
  simt::Perturb(params.timing, 1);
  if (lane % 32 == 0) Policy::StoreScale(row, lane / 32, scale);
  if (lane < 32) Policy::WriteTail(params, token, row, lane);
}

// The same of fp32 values: each lane has four, and rounds two of rope.
template <class Policy>
__global__ void __launch_bounds__(128) WriteFp32Rows(WriterParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot = params.slots[token];
  if (Policy::Skips(slot)) return;
  std::uint8_t* row = Policy::Row(params, slot);
  const unsigned lane = threadIdx.x;
  simt::Perturb(params.timing, 0);
  const float* from = params.kv_c_fp32 + token * params.kv_c_row_stride;
  float values[4];
  float amax = 0.0f;
  for (int i = 0; i < 4; ++i) {
    values[i] = Policy::Fp32Value(from[4 * lane + i]);
    amax = Policy::Max(amax, fabsf(values[i]));
  }
  amax = Policy::template TileMax<Policy>(amax);
  const float scale = Policy::template Scale<Policy>(amax, params.pow2_scale);
  unsigned codes = 0;
  for (int i = 0; i < 4; ++i) {
    codes |= FloatToE4m3(__fdiv_rn(values[i], scale)) << (8 * i);
  }
  reinterpret_cast<unsigned*>(row)[lane] = codes;
  simt::Perturb(params.timing, 1);
  if (lane % 32 == 0) Policy::StoreScale(row, lane / 32, scale);
  if (lane >= 32) return;
  const float* rope =
      params.k_pe_fp32 + token * params.k_pe_row_stride + 2 * lane;
  reinterpret_cast<unsigned*>(row + kTailAt)[lane] =
      Policy::Fp32Rope(rope[0]) | Policy::Fp32Rope(rope[1]) << 16;
}

// `params.tokens` is at least 1; values are bf16, or all fp32.
template <class Policy>
simt::LaunchResult LaunchFusedWriter(const WriterParams& params,
                                     simt::Stream stream,
                                     simt::Schedule schedule) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.tokens));
  config.block = dim3(128);
  config.stream = stream;
  config.schedule = schedule;
  return params.kv_c_fp32 != nullptr
             ? simt::launch(config, WriteFp32Rows<Policy>, params)
             : simt::launch(config, WriteFusedRows<Policy>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_FUSED_WRITER_CUH_
