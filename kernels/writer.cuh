// The writer: rows of 16-bit latent and rope values into slots of the pool.
//
// How a block of 96 lanes makes one row (the native kernel's mapping):
//   1. Lanes 0..63 take 8 latent values each: 16 lanes are a tile.
//   2. Each finds the largest magnitude of its 8; 16 lanes agree on the tile's
//      by four shuffles.
//   3. All compute the scale, quantise and store 8 codes at once; the tile's
//      first lane stores the scale.
//   4. Lanes 64..95 copy two rope values each, or zero the tail.
//
// WriterPolicy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_WRITER_CUH_
#define MLAFUZZ_KERNELS_WRITER_CUH_

#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/layout.h"
#include "kernels/params.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// Formats of kv_c.
struct Bf16Input {
  static constexpr bool kIsFp16 = false;
  static __device__ float ToFloat(unsigned bits) { return Bf16ToFloat(bits); }
};
struct Fp16Input {
  static constexpr bool kIsFp16 = true;
  static __device__ float ToFloat(unsigned bits) { return Fp16ToFloat(bits); }
};

// Takes NaN for nothing, signalling ones too: fmaxf of a signalling NaN is NaN
// on some hosts. `running` is never NaN.
__device__ inline float MaxIgnoringNan(float running, float value) {
  return value > running ? value : running;
}

__device__ inline std::uint8_t* SlotRow(const WriterParams& params,
                                        std::int64_t slot) {
  return params.cache + slot / params.page_size * params.page_stride +
         slot % params.page_size * params.row_stride;
}

struct WriterPolicy {
  // Slots that leave the pool untouched: every negative one.
  static __device__ bool Skips(std::int64_t slot) { return slot < 0; }

  // The row of a slot that is not skipped.
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return SlotRow(params, slot);
  }

  // What a value counts for in its tile's maximum.
  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    return fabsf(Input::ToFloat(bits));
  }

  static __device__ float Max(float running, float value) {
    return MaxIgnoringNan(running, value);
  }

  // Of 16 lanes' maxima, the tile's.
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 8; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 16));
    }
    return amax;
  }

  static __device__ float DivideBy448(float amax) {
    return __fdiv_rn(amax, 448.0f);
  }

  // Raw: not below FLT_MIN. Power of two: 2^ceil(log2(.)), not below 1e-4
  // before; adding all but one unit of the exponent's last place rounds up.
  template <class Policy>
  static __device__ float Scale(float amax, bool pow2) {
    const float scale = Policy::DivideBy448(amax);
    if (!pow2) return MaxIgnoringNan(0x1p-126f, scale);
    const unsigned bits = __float_as_uint(MaxIgnoringNan(1e-4f, scale));
    return __uint_as_float((bits + 0x7fffffu) & 0xff800000u);
  }

  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return FloatToE4m3(__fdiv_rn(Input::ToFloat(bits), scale));
  }

  // Codes 8 * lane .. 8 * lane + 7 of a row.
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    reinterpret_cast<uint2*>(row)[lane] = codes;
  }

  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    reinterpret_cast<float*>(row + kScaleAt)[tile] = scale;
  }

  // Tail bytes 4 * lane .. 4 * lane + 3 of a row.
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    unsigned pair = 0;
    if (params.k_pe != nullptr) {
      pair = reinterpret_cast<const unsigned*>(
          params.k_pe + token * params.k_pe_row_stride)[lane];
    }
    reinterpret_cast<unsigned*>(row + kTailAt)[lane] = pair;
  }
};

// Eight values to eight codes, four a word.
template <class Policy, class Input>
__device__ inline unsigned FourCodes(unsigned low, unsigned high, float scale) {
  return Policy::template Code<Input>(low & 0xffffu, scale) |
         Policy::template Code<Input>(low >> 16, scale) << 8 |
         Policy::template Code<Input>(high & 0xffffu, scale) << 16 |
         Policy::template Code<Input>(high >> 16, scale) << 24;
}

template <class Policy, class Input>
__device__ inline float PairMax(float running, unsigned pair) {
  running =
      Policy::Max(running, Policy::template Magnitude<Input>(pair & 0xffffu));
  return Policy::Max(running, Policy::template Magnitude<Input>(pair >> 16));
}

// One block a token, 96 lanes.
template <class Policy, class Input>
__global__ void __launch_bounds__(96) WriteRows(WriterParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot = params.slots[token];
  if (Policy::Skips(slot)) return;
  std::uint8_t* row = Policy::Row(params, slot);
  const unsigned lane = threadIdx.x;
  simt::Perturb(params.timing, 0);
  if (lane >= 64) {
    Policy::WriteTail(params, token, row, lane - 64);
    return;
  }
  const uint4 values = reinterpret_cast<const uint4*>(
      params.kv_c + token * params.kv_c_row_stride)[lane];
  float amax = PairMax<Policy, Input>(0.0f, values.x);
  amax = PairMax<Policy, Input>(amax, values.y);
  amax = PairMax<Policy, Input>(amax, values.z);
  amax = PairMax<Policy, Input>(amax, values.w);
  amax = Policy::template TileMax<Policy>(amax);
  const float scale = Policy::template Scale<Policy>(amax, params.pow2_scale);
  Policy::StoreCodes(
      row, lane,
      make_uint2(FourCodes<Policy, Input>(values.x, values.y, scale),
                 FourCodes<Policy, Input>(values.z, values.w, scale)));
  simt::Perturb(params.timing, 1);
  if (lane % 16 == 0) Policy::StoreScale(row, lane / 16, scale);
}

// `params.tokens` is at least 1: an empty grid is a launch error.
template <class Policy>
simt::LaunchResult LaunchWriter(const WriterParams& params, simt::Stream stream,
                                simt::Schedule schedule) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.tokens));
  config.block = dim3(96);
  config.stream = stream;
  config.schedule = schedule;
  return params.fp16
             ? simt::launch(config, WriteRows<Policy, Fp16Input>, params)
             : simt::launch(config, WriteRows<Policy, Bf16Input>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_WRITER_CUH_
