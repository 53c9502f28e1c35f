// How a reader takes a stored tile scale.
#ifndef MLAFUZZ_KERNELS_DECODE_SCALE_CUH_
#define MLAFUZZ_KERNELS_DECODE_SCALE_CUH_

#include "kernels/codec.cuh"
#include "kernels/decode/params.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// Bits 23..30 alone, as a block-scaled MMA takes them (FlashInfer's pow2_fp32):
// 2^floor(log2 s) for a normal positive scale, without sign.
__device__ inline float Pow2FloorScale(float stored) {
  return __uint_as_float(__float_as_uint(stored) & 0x7f800000u);
}

// FlashMLA on sm_90.
__device__ inline float Bf16Scale(float stored) {
  return Bf16ToFloat(FloatToBf16(stored));
}

__device__ inline float ReadScale(ScaleRule rule, float stored) {
  switch (rule) {
    case ScaleRule::kPow2Floor:
      return Pow2FloorScale(stored);
    case ScaleRule::kBf16:
      return Bf16Scale(stored);
    case ScaleRule::kRaw:
      break;
  }
  return stored;
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_SCALE_CUH_
