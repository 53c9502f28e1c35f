// The writer of the layouts beside the 656-byte row.
//
// How a block makes one token, or, where a token takes few lanes, several:
//   1. Lanes take 8 latent values each; kTile / 8 neighbours are a tile.
//   2. Each finds the largest magnitude of its 8; a tile's lanes agree by
//      shuffles. Lanes past the last tile of a warp take part with nothing.
//   3. All compute the scale, quantise and store 8 codes as two words; the
//      tile's first lane stores the scale.
//   4. Where the layout has rope, 32 lanes more copy two values each.
//
// PageWriterPolicy holds the decisions. A wrong twin derives from it and
// overrides one.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_PAGE_WRITER_CUH_
#define MLAFUZZ_KERNELS_LAYOUTS_PAGE_WRITER_CUH_

#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/layouts/formats.h"
#include "kernels/params.h"
#include "kernels/simt/simt.h"
#include "kernels/writer.cuh"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// 2^ceil(log2(scale)) of a normal number or infinity.
__device__ inline float CeilToPow2(float scale) {
  return __uint_as_float((__float_as_uint(scale) + 0x7fffffu) & 0xff800000u);
}

template <class F>
struct PageWriterPolicy {
  using Format = F;

  // Tokens that leave the pool untouched: of every negative slot. `lane` and
  // `mask`: the caller's within its warp, and all of the warp's.
  static __device__ bool Skips(const WriterParams&, std::int64_t /*token*/,
                               std::int64_t slot, unsigned /*lane*/,
                               unsigned /*mask*/) {
    return slot < 0;
  }

  static __device__ std::uint8_t* Page(const WriterParams& params,
                                       std::int64_t slot) {
    return params.cache + slot / params.page_size * params.page_stride;
  }
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    const std::int64_t stride =
        Format::kEntryBytes != 0 ? Format::kRowBytes : params.row_stride;
    return Page(params, slot) + slot % params.page_size * stride;
  }
  // Of what stands behind all rows of the page, or of the row.
  static __device__ std::uint8_t* Entry(const WriterParams& params,
                                        std::int64_t slot) {
    if (Format::kEntryBytes == 0) return Row(params, slot);
    return Page(params, slot) + params.page_size * Format::kRowBytes +
           slot % params.page_size * Format::kEntryBytes;
  }

  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    return fabsf(Input::ToFloat(bits));
  }
  static __device__ float Max(float running, float value) {
    return MaxIgnoringNan(running, value);
  }

  // Amax is not taken below 1e-4. A scale of eight exponent bits is a power of
  // two whatever is asked for.
  static __device__ float Scale(float amax, bool pow2) {
    const float scale = __fdiv_rn(MaxIgnoringNan(1e-4f, amax), 448.0f);
    return pow2 || Format::kUe8m0 ? CeilToPow2(scale) : scale;
  }

  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return FloatToE4m3(__fdiv_rn(Input::ToFloat(bits), scale));
  }

  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    unsigned* words = reinterpret_cast<unsigned*>(row) + 2 * lane;
    words[0] = codes.x;
    words[1] = codes.y;
  }

  static __device__ void StoreScale(std::uint8_t* entry, unsigned tile,
                                    float scale) {
    std::uint8_t* at = entry + Format::kScaleAt;
    if (Format::kUe8m0) {
      at[tile] = static_cast<std::uint8_t>(__float_as_uint(scale) >> 23);
    } else {
      reinterpret_cast<float*>(at)[tile] = scale;
    }
  }

  // What an entry has behind its scales.
  static __device__ void ClearPadding(std::uint8_t* entry) {
    constexpr int kScales =
        Format::kCodes / Format::kTile * (Format::kUe8m0 ? 1 : 4);
    for (int i = kScales; i < Format::kEntryBytes; ++i) entry[i] = 0;
  }

  // Rope values 2 * lane and the next.
  static __device__ void StoreRope(std::uint8_t* row, unsigned lane,
                                   unsigned pair) {
    reinterpret_cast<unsigned*>(row + Format::kCodes)[lane] = pair;
  }
};

// Lanes that hold codes. A whole warp, unless the row has too few for one.
template <class Format>
inline constexpr int kCodeLanes =
    Format::kCodes / 8 < 32 ? Format::kCodes / 8
                            : (Format::kCodes / 8 + 31) / 32 * 32;

// Tokens of one block. A launch of a warp or less is mostly its own cost.
template <class Format>
inline constexpr int kBlockTokens =
    Format::kRope == 0 && kCodeLanes<Format> <= 32 ? 64 / kCodeLanes<Format>
                                                   : 1;

template <class Policy, class Input>
__global__ void __launch_bounds__(96) WritePages(WriterParams params) {
  using Format = typename Policy::Format;
  constexpr unsigned kLanes = kCodeLanes<Format>;
  constexpr unsigned kTokens = kBlockTokens<Format>;
  const std::int64_t token = std::int64_t{blockIdx.x} * kTokens +
                             (kTokens > 1 ? threadIdx.x / kLanes : 0);
  if (token >= params.tokens) return;
  const std::int64_t slot = params.slots[token];
  const unsigned lane = kTokens > 1 ? threadIdx.x % kLanes : threadIdx.x;
  // Of a warp, the lanes of this token.
  const unsigned mask = kLanes < 32
                            ? ((1u << (kLanes & 31u)) - 1u)
                                  << (threadIdx.x % 32 / kLanes * kLanes)
                            : 0xffffffffu;
  if (Policy::Skips(params, token, slot, lane % 32, mask)) return;
  std::uint8_t* row = Policy::Row(params, slot);
  std::uint8_t* entry = Policy::Entry(params, slot);
  simt::Perturb(params.timing, 0);
  if (Format::kRope != 0 && lane >= kLanes) {
    Policy::StoreRope(
        row, lane - kLanes,
        reinterpret_cast<const unsigned*>(
            params.k_pe + token * params.k_pe_row_stride)[lane - kLanes]);
    return;
  }
  const bool holds = 8 * lane < Format::kCodes;
  uint4 values = make_uint4(0, 0, 0, 0);
  if (holds) {
    values = reinterpret_cast<const uint4*>(
        params.kv_c + token * params.kv_c_row_stride)[lane];
  }
  float amax = PairMax<Policy, Input>(0.0f, values.x);
  amax = PairMax<Policy, Input>(amax, values.y);
  amax = PairMax<Policy, Input>(amax, values.z);
  amax = PairMax<Policy, Input>(amax, values.w);
  constexpr int kTileLanes = Format::kTile / 8;
  for (int distance = kTileLanes / 2; distance > 0; distance /= 2) {
    amax = Policy::Max(amax, __shfl_xor_sync(mask, amax, distance, kTileLanes));
  }
  if (!holds) return;
  const float scale = Policy::Scale(amax, params.pow2_scale);
  Policy::StoreCodes(
      row, lane,
      make_uint2(FourCodes<Policy, Input>(values.x, values.y, scale),
                 FourCodes<Policy, Input>(values.z, values.w, scale)));
  simt::Perturb(params.timing, 1);
  if (lane % kTileLanes == 0) {
    Policy::StoreScale(entry, lane / kTileLanes, scale);
  }
  if (lane == 0) Policy::ClearPadding(entry);
}

// `params.tokens` is at least 1: an empty grid is a launch error.
template <class Policy>
simt::LaunchResult LaunchPageWriter(const WriterParams& params,
                                    simt::Stream stream,
                                    simt::Schedule schedule) {
  using Format = typename Policy::Format;
  simt::Config config;
  constexpr int kTokens = kBlockTokens<Format>;
  config.grid =
      dim3(static_cast<unsigned>((params.tokens + kTokens - 1) / kTokens));
  config.block = dim3(kTokens * kCodeLanes<Format> + Format::kRope / 2);
  config.stream = stream;
  config.schedule = schedule;
  return params.fp16
             ? simt::launch(config, WritePages<Policy, Fp16Input>, params)
             : simt::launch(config, WritePages<Policy, Bf16Input>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_PAGE_WRITER_CUH_
