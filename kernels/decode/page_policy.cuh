// The decisions of a decode over pages whose scales stand in a footer
// (DeepSeek-V4, DSV4_1), with a second cache beside the first where the call
// has one. A wrong twin derives from PageDecodePolicy and overrides one.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_POLICY_CUH_
#define MLAFUZZ_KERNELS_DECODE_PAGE_POLICY_CUH_

#include <cstdint>

#include "kernels/decode/decode.cuh"
#include "kernels/layouts/formats.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

// One of the two caches.
struct PageCache {
  const std::uint8_t* base;
  std::int64_t page_size;    // rows
  std::int64_t page_stride;  // bytes
};

// Where a candidate's bytes stand; null: none are read.
struct PageToken {
  const std::uint8_t* row;
  const std::uint8_t* entry;  // of scales
};

template <class F>
struct PageDecodePolicy : DecodePolicy {
  using Format = F;
  static constexpr int kScales = Format::kCodes / Format::kTile;
  static_assert(Format::kCodes + Format::kRope == kLatent ||
                Format::kCodes == kLatent);
  static_assert(Format::kEntryBytes != 0 && Format::kUe8m0);

  // ------------------------------------------------------------- Candidates

  static __device__ PageCache First(const DecodeParams& params) {
    return {params.cache, params.page_size, params.page_stride};
  }
  static __device__ PageCache Extra(const DecodeParams& params) {
    return {params.extra_cache, params.extra_page_size,
            params.extra_page_stride};
  }

  static __device__ std::int32_t ExtraSlot(const DecodeParams& params,
                                           std::int64_t query,
                                           std::int64_t lane) {
    return params.extra_indices[query * params.extra_indices_row_stride + lane];
  }
  static __device__ std::int64_t ExtraLength(const DecodeParams& params,
                                             std::int64_t query) {
    return params.extra_lengths == nullptr
               ? params.extra_lanes
               : params.extra_lengths[query * params.extra_lengths_stride];
  }

  static __device__ const std::uint8_t* Page(const PageCache& cache,
                                             std::int64_t slot) {
    return cache.base + slot / cache.page_size * cache.page_stride;
  }
  static __device__ const std::uint8_t* Row(const PageCache& cache,
                                            std::int64_t slot) {
    return Page(cache, slot) + slot % cache.page_size * Format::kRowBytes;
  }
  static __device__ const std::uint8_t* Entry(const PageCache& cache,
                                              std::int64_t slot) {
    return Page(cache, slot) + cache.page_size * Format::kRowBytes +
           slot % cache.page_size * Format::kEntryBytes;
  }
  // What a masked candidate reads.
  static __device__ PageToken MaskedToken(const PageCache&) {
    return {nullptr, nullptr};
  }

  // ------------------------------------------------------ Logits and values

  // A scale byte is an exponent; its ends are read as the parameters say.
  static __device__ float Ue8m0(unsigned byte, const Ue8m0Ends& ends) {
    if (byte == 0) {
      return ends.zero_is_zero ? 0.0f : __uint_as_float(0x00400000u);
    }
    if (byte == 255) {
      return __uint_as_float(ends.last_is_inf ? 0x7f800000u : 0x7fc00000u);
    }
    return __uint_as_float(byte << 23);
  }

  // The number of the scale that goes with 16 columns.
  static __device__ int ScaleOf(int chunk) {
    return chunk / (Format::kTile / 16);
  }
  // And the byte that holds it.
  static __device__ unsigned ScaleByte(const std::uint8_t* entry, int scale) {
    return entry[Format::kScaleAt + scale];
  }

  // Whether columns of rope are part of the logits, of the values.
  static __device__ bool MeetsRope() { return true; }
  static __device__ bool MixesRope() { return true; }
  // Two rope values of a token as floats.
  static __device__ float2 Rope(const PageToken&, unsigned pair) {
    return make_float2(Bf16ToFloat(pair & 0xffffu),
                       __uint_as_float(pair & 0xffff0000u));
  }
};

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_POLICY_CUH_
