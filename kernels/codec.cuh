// Number formats of the cache in device code, exact on every pattern.
//
// Written with masks where a comparison would do: under a fuzzer each integer
// comparison on data is traced, and these run once an element.
#ifndef MLAFUZZ_KERNELS_CODEC_CUH_
#define MLAFUZZ_KERNELS_CODEC_CUH_

#include <cstdint>

#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// All ones if bit 31 of `x` is set, else 0. `a - b` has it set if a < b, for
// a and b below 2^31.
__device__ inline unsigned MaskOfSign(unsigned x) { return 0u - (x >> 31); }

__device__ inline unsigned Select(unsigned mask, unsigned a, unsigned b) {
  return (a & mask) | (b & ~mask);
}

__device__ inline float Bf16ToFloat(unsigned bits) {
  return __uint_as_float(bits << 16);
}

// Round to nearest even; overflow gives Inf; every NaN gives 0x7FFF, as the
// hardware's conversion does.
__device__ inline unsigned FloatToBf16(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned nan = MaskOfSign(0x7f800000u - (bits & 0x7fffffffu));
  return Select(nan, 0x7fffu, (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// Exact, subnormals included. A NaN stays one.
__device__ inline float Fp16ToFloat(unsigned bits) {
  const unsigned magnitude = bits & 0x7fffu;
  // Exponent and mantissa in their places for fp32; the product corrects the
  // bias (127 - 15) and normalises.
  const unsigned finite =
      __float_as_uint(__uint_as_float(magnitude << 13) * 0x1p112f);
  const unsigned special = MaskOfSign(0x7bffu - magnitude);
  return __uint_as_float(finite | (special & 0x7f800000u) |
                         (bits & 0x8000u) << 16);
}

// Round to nearest even, saturating at 448 (Inf too); NaN gives 0x7F whatever
// its sign. The CUDA conversion in its saturate-finite mode.
__device__ inline unsigned FloatToE4m3(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned magnitude = bits & 0x7fffffffu;
  // Below 2^-6, codes are multiples of 2^-9, which is the last place of 2^14:
  // the addition rounds.
  const unsigned subnormal =
      __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - 0x46800000u;
  // Else drop 20 mantissa bits and change the bias from 127 to 7.
  const unsigned normal =
      ((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - (120u << 3);
  const unsigned rounded =
      Select(MaskOfSign(magnitude - 0x3c800000u), subnormal, normal);
  const unsigned finite = Select(MaskOfSign(0x7eu - rounded), 0x7eu, rounded);
  const unsigned nan = MaskOfSign(0x7f800000u - magnitude);
  return Select(nan, 0x7fu, finite | (bits >> 24 & 0x80u));
}

// Exact; 0x7F and 0xFF give NaN. Takes the low 8 bits.
__device__ inline float E4m3ToFloat(unsigned code) {
  const unsigned magnitude = code & 0x7fu;
  const unsigned finite =
      __float_as_uint(__uint_as_float(magnitude << 20) * 0x1p120f);
  const unsigned nan = MaskOfSign(0x7eu - magnitude);
  return __uint_as_float(finite | (nan & 0x7fc00000u) | (code & 0x80u) << 24);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_CODEC_CUH_
