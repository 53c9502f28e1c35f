// Wrong writers: the tile's scale.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::kScaleAt;
using kernels::WriterPolicy;

// 2^ceil(log2(scale)) of a normal number.
__device__ inline float Pow2Ceil(float scale) {
  return __uint_as_float((__float_as_uint(scale) + 0x7fffffu) & 0xff800000u);
}

// The values are divided by the exact scale, a rounded one is published.
struct PublishesRounded : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    WriterPolicy::StoreScale(row, tile, Pow2Ceil(scale));
  }
};

// The exact scale is published, the values are divided by a rounded one.
struct DividesByRounded : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return WriterPolicy::Code<Input>(bits, Pow2Ceil(scale));
  }
};

struct RoundsScale : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool pow2) {
    return Pow2Ceil(WriterPolicy::Scale<Policy>(amax, pow2));
  }
};

// A tile of zeros has scale 0, and codes of 0 / 0.
struct NoFloor : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool) {
    return Policy::DivideBy448(amax);
  }
};

// The floor that the power-of-two form of the writer has.
struct HighFloor : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool) {
    return kernels::MaxIgnoringNan(1e-4f, Policy::DivideBy448(amax));
  }
};

// max(amax, floor) / 448, as another cache's writer has it.
struct FloorOnAmax : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool) {
    return Policy::DivideBy448(kernels::MaxIgnoringNan(0x1p-126f, amax));
  }
};

// The largest number of another FP8 format.
struct DividesBy240 : WriterPolicy {
  static __device__ float DivideBy448(float amax) {
    return __fdiv_rn(amax, 240.0f);
  }
};

// The scale passes through bf16.
struct Bf16Scale : WriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool pow2) {
    return kernels::Bf16ToFloat(
        kernels::FloatToBf16(WriterPolicy::Scale<Policy>(amax, pow2)));
  }
};

// One step of the reduction is missing: each lane knows half of its tile.
struct HalfTile : WriterPolicy {
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 4; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 16));
    }
    return amax;
  }
};

// One step too many: two tiles share the larger of their maxima.
struct TwoTiles : WriterPolicy {
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 16; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 32));
    }
    return amax;
  }
};

// The largest value, not the largest magnitude.
struct SignedAmax : WriterPolicy {
  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    return Input::ToFloat(bits);
  }
};

// A NaN is the largest of all.
struct NanPoisons : WriterPolicy {
  static __device__ float Max(float running, float value) {
    return value > running || value != value ? value : running;
  }
  template <class Policy>
  static __device__ float Scale(float amax, bool pow2) {
    return amax != amax ? __uint_as_float(0x7fffffffu)
                        : WriterPolicy::Scale<Policy>(amax, pow2);
  }
};

// Bytes of the four scales, most significant first.
struct ScaleByteOrder : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    const unsigned bits = __float_as_uint(scale);
    reinterpret_cast<unsigned*>(row + kScaleAt)[tile] =
        bits << 24 | (bits & 0xff00u) << 8 | (bits >> 8 & 0xff00u) | bits >> 24;
  }
};

// Tile t's scale lies where tile t + 1's belongs.
struct RotatesScales : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    WriterPolicy::StoreScale(row, (tile + 1) % 4, scale);
  }
};

// The last tile's scale is never stored.
struct DropsLastScale : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    if (tile < 3) WriterPolicy::StoreScale(row, tile, scale);
  }
};

// Four floats in a register were stored as bf16, in half of the bytes.
struct NarrowScales : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    reinterpret_cast<std::uint16_t*>(row + kScaleAt)[tile] =
        static_cast<std::uint16_t>(kernels::FloatToBf16(scale));
  }
};

}  // namespace

std::vector<CompiledTarget> WriterScaleMutants() {
  return {
      {"mutant:scale-published-rounded",
       "writer divides by the exact scale and stores a power of two",
       {.write = CallWriter<PublishesRounded>}},
      {"mutant:scale-divides-by-rounded",
       "writer stores the exact scale and divides by a power of two",
       {.write = CallWriter<DividesByRounded>}},
      {"mutant:scale-pow2",
       "writer rounds the scale up to a power of two, unasked",
       {.write = CallWriter<RoundsScale>}},
      {"mutant:scale-no-floor",
       "writer lets the scale of a tile of zeros be 0",
       {.write = CallWriter<NoFloor>}},
      {"mutant:scale-high-floor",
       "writer does not let a scale fall below 1e-4",
       {.write = CallWriter<HighFloor>}},
      {"mutant:scale-floor-on-amax",
       "writer applies the floor to the maximum, not to the scale",
       {.write = CallWriter<FloorOnAmax>}},
      {"mutant:scale-240",
       "writer divides by the largest number of the FNUZ format",
       {.write = CallWriter<DividesBy240>}},
      {"mutant:scale-bf16",
       "writer rounds the scale to bf16",
       {.write = CallWriter<Bf16Scale>}},
      {"mutant:amax-half-tile",
       "writer takes the maximum of 64 values for that of 128",
       {.write = CallWriter<HalfTile>}},
      {"mutant:amax-two-tiles",
       "writer takes the maximum of 256 values for that of 128",
       {.write = CallWriter<TwoTiles>}},
      {"mutant:amax-signed",
       "writer takes the largest value for the largest magnitude",
       {.write = CallWriter<SignedAmax>}},
      {"mutant:amax-nan",
       "writer lets one NaN become the scale of its tile",
       {.write = CallWriter<NanPoisons>}},
      {"mutant:scale-byte-order",
       "writer stores the scales most significant byte first",
       {.write = CallWriter<ScaleByteOrder>}},
      {"mutant:scale-of-next-tile",
       "writer stores each scale in the next tile's place",
       {.write = CallWriter<RotatesScales>}},
      {"mutant:scale-last-dropped",
       "writer stores three of four scales",
       {.write = CallWriter<DropsLastScale>}},
      {"mutant:scale-stored-narrow",
       "writer stores the scales as bf16 in the first 8 of 16 bytes",
       {.write = CallWriter<NarrowScales>}},
  };
}

}  // namespace mlafuzz
