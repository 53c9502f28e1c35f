// Wrong gathers: what becomes of a row's codes, scales and tail.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::E4m3ToFloat;
using kernels::FloatToBf16;
using kernels::GatherParams;
using kernels::GatherPolicy;
using kernels::kLatent;

// ---------------------------------------------------------------------- Scales

// The row is taken for flat FP8: no scales.
struct UnitScale : GatherPolicy {
  static __device__ float Scale(const std::uint8_t*, unsigned) { return 1.0f; }
};

struct FirstScale : GatherPolicy {
  static __device__ float Scale(const std::uint8_t* row, unsigned) {
    return GatherPolicy::Scale(row, 0);
  }
};

// The exponent alone, as an E8M0 scale has it.
struct Pow2Scale : GatherPolicy {
  static __device__ float Scale(const std::uint8_t* row, unsigned tile) {
    return __uint_as_float(__float_as_uint(GatherPolicy::Scale(row, tile)) &
                           0xff800000u);
  }
};

struct Bf16Scale : GatherPolicy {
  static __device__ float Scale(const std::uint8_t* row, unsigned tile) {
    return kernels::Bf16ToFloat(FloatToBf16(GatherPolicy::Scale(row, tile)));
  }
};

struct ScaleByteOrder : GatherPolicy {
  static __device__ float Scale(const std::uint8_t* row, unsigned tile) {
    const unsigned bits = __float_as_uint(GatherPolicy::Scale(row, tile));
    return __uint_as_float(bits << 24 | (bits & 0xff00u) << 8 |
                           (bits >> 8 & 0xff00u) | bits >> 24);
  }
};

// A tile's last chunk takes the next tile's scale.
struct NextTilesScale : GatherPolicy {
  static __device__ unsigned TileOf(unsigned chunk) {
    return GatherPolicy::TileOf(chunk == 63 ? chunk : chunk + 1);
  }
};

// Every tile takes the scale of the one before it.
struct RotatedScales : GatherPolicy {
  static __device__ unsigned TileOf(unsigned chunk) {
    return (GatherPolicy::TileOf(chunk) + 3) % 4;
  }
};

// ---------------------------------------------------------------------- Values

// Two codes by One::Value(code, scale), which gives 16 bits.
template <class One>
struct ByValue : GatherPolicy {
  static __device__ unsigned Values(unsigned codes, float scale) {
    return One::Value(codes & 0xffu, scale) |
           One::Value(codes >> 8 & 0xffu, scale) << 16;
  }
};

// The code's number as the value: bytes were copied and widened, no more.
struct RawCode {
  static __device__ unsigned Value(unsigned code, float) {
    return FloatToBf16(static_cast<float>(code));
  }
};

// The FNUZ format: half of the number, and -0 is its NaN.
struct FnuzCode {
  static __device__ unsigned Value(unsigned code, float scale) {
    if (code == 0x80u) return 0x7fffu;
    const unsigned magnitude = code & 0x7fu;
    const float value = __uint_as_float(magnitude << 20) * 0x1p119f;
    return FloatToBf16(__fmul_rn(code < 0x80u ? value : -value, scale));
  }
};

// An exponent of 0 taken for any other.
struct NoSubnormals {
  static __device__ unsigned Value(unsigned code, float scale) {
    const unsigned magnitude = code & 0x7fu;
    if (magnitude == 0 || magnitude > 7) {
      return FloatToBf16(__fmul_rn(E4m3ToFloat(code), scale));
    }
    const float value = __uint_as_float((magnitude << 20) + (120u << 23));
    return FloatToBf16(__fmul_rn(code < 0x80u ? value : -value, scale));
  }
};

struct E5m2Code {
  static __device__ unsigned Value(unsigned code, float scale) {
    return FloatToBf16(__fmul_rn(kernels::Fp16ToFloat(code << 8), scale));
  }
};

struct Truncated {
  static __device__ unsigned Value(unsigned code, float scale) {
    const float product = __fmul_rn(E4m3ToFloat(code), scale);
    return product != product ? 0x7fffu : __float_as_uint(product) >> 16;
  }
};

// A product below the normal range is flushed.
struct Flushed {
  static __device__ unsigned Value(unsigned code, float scale) {
    const float product = __fmul_rn(E4m3ToFloat(code), scale);
    return FloatToBf16(fabsf(product) < 0x1p-126f ? copysignf(0.0f, product)
                                                  : product);
  }
};

// Another NaN than the hardware's.
struct QuietNan {
  static __device__ unsigned Value(unsigned code, float scale) {
    const unsigned value = FloatToBf16(__fmul_rn(E4m3ToFloat(code), scale));
    return value == 0x7fffu ? 0x7fc0u : value;
  }
};

// A NaN code becomes the largest number.
struct NanSaturates {
  static __device__ unsigned Value(unsigned code, float scale) {
    const float value = (code & 0x7fu) == 0x7fu
                            ? (code < 0x80u ? 448.0f : -448.0f)
                            : E4m3ToFloat(code);
    return FloatToBf16(__fmul_rn(value, scale));
  }
};

// Twice rounded: to 11 bits, then to 8.
struct TwiceRounded {
  static __device__ unsigned Value(unsigned code, float scale) {
    const float product = __fmul_rn(E4m3ToFloat(code), scale);
    const unsigned bits = __float_as_uint(product);
    if ((bits & 0x7fffffffu) >= 0x7f000000u) return FloatToBf16(product);
    return FloatToBf16(
        __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu));
  }
};

// ------------------------------------------------------------------------ Tail

// Bytes 512.. of the row as FP8 values: what a reader of flat rows sees.
struct TailAsCodes : GatherPolicy {
  static __device__ unsigned TailPair(const std::uint8_t* row, unsigned lane,
                                      bool nope) {
    if (nope) return 0;
    const unsigned codes =
        reinterpret_cast<const std::uint16_t*>(row + kLatent)[lane];
    return kernels::TwoValues(codes, 1.0f);
  }
};

// The tail begins where the codes end, as in a row of 576 values.
struct TailTooEarly : GatherPolicy {
  static __device__ unsigned TailPair(const std::uint8_t* row, unsigned lane,
                                      bool nope) {
    return GatherPolicy::TailPair(row - 16, lane, nope);
  }
};

// Without rope, dst is left as it was.
struct TailUntouched : GatherPolicy {
  static __device__ void StoreTail(std::uint16_t* out, unsigned lane,
                                   unsigned pair, bool nope) {
    if (!nope) GatherPolicy::StoreTail(out, lane, pair, nope);
  }
};

// The last 16 bytes of a row of dst are not stored.
struct LastBytesDropped : GatherPolicy {
  static __device__ void StoreTail(std::uint16_t* out, unsigned lane,
                                   unsigned pair, bool nope) {
    if (lane < 28) GatherPolicy::StoreTail(out, lane, pair, nope);
  }
};

// What lies behind the row is cleared too.
struct ClearsGap : GatherPolicy {
  static __device__ void StoreTail(std::uint16_t* out, unsigned lane,
                                   unsigned pair, bool nope) {
    GatherPolicy::StoreTail(out, lane, pair, nope);
    if (lane == 0) out[kernels::kWorkspaceColumns] = 0;
  }
};

// The latent values of two tiles change places.
struct TilesSwapped : GatherPolicy {
  static __device__ void StoreValues(std::uint16_t* out, unsigned chunk,
                                     uint4 values) {
    GatherPolicy::StoreValues(out, chunk ^ 16u, values);
  }
};

// The last chunk is not stored.
struct LastChunkDropped : GatherPolicy {
  static __device__ void StoreValues(std::uint16_t* out, unsigned chunk,
                                     uint4 values) {
    if (chunk < 63) GatherPolicy::StoreValues(out, chunk, values);
  }
};

CallResult NeverRope(const GatherArgs& args, const LaunchContext& context) {
  return GatherChanged(args, context,
                       [](GatherParams& params) { params.nope = true; });
}

}  // namespace

std::vector<CompiledTarget> GatherValueMutants() {
  return {
      {"mutant:gather-unit-scale",
       "gather ignores the scales",
       {.gather = CallGather<UnitScale>}},
      {"mutant:gather-first-scale",
       "gather takes the first tile's scale for the whole row",
       {.gather = CallGather<FirstScale>}},
      {"mutant:gather-pow2-scale",
       "gather keeps the exponent of a scale",
       {.gather = CallGather<Pow2Scale>}},
      {"mutant:gather-bf16-scale",
       "gather rounds a scale to bf16",
       {.gather = CallGather<Bf16Scale>}},
      {"mutant:gather-scale-byte-order",
       "gather reads the scales most significant byte first",
       {.gather = CallGather<ScaleByteOrder>}},
      {"mutant:gather-next-tiles-scale",
       "gather takes the next tile's scale for the last 8 values of a tile",
       {.gather = CallGather<NextTilesScale>}},
      {"mutant:gather-rotated-scales",
       "gather takes each tile's scale from the tile before it",
       {.gather = CallGather<RotatedScales>}},
      {"mutant:gather-raw-codes",
       "gather takes a code's number for its value",
       {.gather = CallGather<ByValue<RawCode>>}},
      {"mutant:gather-fnuz",
       "gather reads codes of the FNUZ format",
       {.gather = CallGather<ByValue<FnuzCode>>}},
      {"mutant:gather-no-subnormals",
       "gather reads subnormal codes as if they were normal",
       {.gather = CallGather<ByValue<NoSubnormals>>}},
      {"mutant:gather-e5m2",
       "gather reads codes of the E5M2 format",
       {.gather = CallGather<ByValue<E5m2Code>>}},
      {"mutant:gather-truncates",
       "gather truncates products to bf16",
       {.gather = CallGather<ByValue<Truncated>>}},
      {"mutant:gather-flushes",
       "gather flushes subnormal products to zero",
       {.gather = CallGather<ByValue<Flushed>>}},
      {"mutant:gather-nan-pattern",
       "gather stores NaN as 0x7fc0",
       {.gather = CallGather<ByValue<QuietNan>>}},
      {"mutant:gather-nan-saturates",
       "gather reads a NaN code as 448",
       {.gather = CallGather<ByValue<NanSaturates>>}},
      {"mutant:gather-twice-rounded",
       "gather rounds products to 11 bits before it rounds them to bf16",
       {.gather = CallGather<ByValue<TwiceRounded>>}},
      {"mutant:gather-tail-as-codes",
       "gather reads bytes 512..575 as FP8 values of the tail",
       {.gather = CallGather<TailAsCodes>}},
      {"mutant:gather-tail-too-early",
       "gather reads the tail from byte 512",
       {.gather = CallGather<TailTooEarly>}},
      {"mutant:gather-tail-untouched",
       "gather leaves the tail of dst as it was where rows carry no rope",
       {.gather = CallGather<TailUntouched>}},
      {"mutant:gather-last-bytes-dropped",
       "gather does not store the last 16 bytes of a row",
       {.gather = CallGather<LastBytesDropped>}},
      {"mutant:gather-clears-gap",
       "gather clears the first value behind a row of dst",
       {.gather = CallGather<ClearsGap>}},
      {"mutant:gather-tiles-swapped",
       "gather stores the values of two tiles in each other's place",
       {.gather = CallGather<TilesSwapped>}},
      {"mutant:gather-last-chunk-dropped",
       "gather does not store the last 8 latent values of a row",
       {.gather = CallGather<LastChunkDropped>}},
      {"mutant:gather-never-rope",
       "gather clears the tail of rows that carry rope",
       {.gather = NeverRope}},
  };
}

}  // namespace mlafuzz
