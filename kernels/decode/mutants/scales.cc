// What a reader makes of tile scales: another rule than the writer's, another
// tile's, or one for the good numbers alone.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::DecodePolicy;

constexpr DecodeOptions kBothBf16 = {.qk_scale = kernels::ScaleRule::kBf16,
                                     .v_scale = kernels::ScaleRule::kBf16};

// 2^ceil(log2 s) of a positive number.
__device__ float Pow2CeilScale(float stored) {
  const unsigned bits = __float_as_uint(stored);
  return __uint_as_float((bits + 0x7fffffu) & 0x7f800000u);
}

struct BothPow2Ceil : DecodePolicy {
  static __device__ float QkScale(const DecodeParams&, float stored) {
    return Pow2CeilScale(stored);
  }
  static __device__ float VScale(const DecodeParams&, float stored) {
    return Pow2CeilScale(stored);
  }
};

struct VScaleSkipped : DecodePolicy {
  static __device__ float VScale(const DecodeParams&, float) { return 1.0f; }
};

struct QkScaleSkipped : DecodePolicy {
  static __device__ float QkScale(const DecodeParams&, float) { return 1.0f; }
};

struct QkTilesSwapped : DecodePolicy {
  static __device__ int QkScaleTile(int tile) { return tile ^ 1; }
};

struct VScaleOfFirstTile : DecodePolicy {
  static __device__ int VScaleTile(int) { return 0; }
};

struct ClampedPositive : DecodePolicy {
  // NaN becomes 0 as well.
  static __device__ float QkScale(const DecodeParams&, float stored) {
    return fmaxf(stored, 0.0f);
  }
  static __device__ float VScale(const DecodeParams&, float stored) {
    return fmaxf(stored, 0.0f);
  }
};

struct SubnormalIsZero : DecodePolicy {
  static __device__ float Flushed(float stored) {
    const bool subnormal = (__float_as_uint(stored) & 0x7f800000u) == 0;
    return subnormal ? 0.0f : stored;
  }
  static __device__ float QkScale(const DecodeParams&, float stored) {
    return Flushed(stored);
  }
  static __device__ float VScale(const DecodeParams&, float stored) {
    return Flushed(stored);
  }
};

}  // namespace

std::vector<CompiledDecode> ScaleFaults() {
  return {
      DecodeTwin<BothPow2Ceil>("mutant:scale-pow2-ceil",
                               "decode takes scales to the next power of two"),
      DecodeTwin<DecodePolicy, kBothBf16>("mutant:scale-through-bf16",
                                          "decode rounds scales to bf16"),
      DecodeTwin<VScaleSkipped>("mutant:v-scale-skipped",
                                "decode takes values without their scale"),
      DecodeTwin<QkScaleSkipped>("mutant:qk-scale-skipped",
                                 "decode takes logits without scales"),
      DecodeTwin<QkTilesSwapped>("mutant:qk-scale-tiles-swapped",
                                 "decode swaps the scales of two tiles for the "
                                 "logits"),
      DecodeTwin<VScaleOfFirstTile>("mutant:v-scale-of-first-tile",
                                    "decode takes all values with the first "
                                    "tile's scale"),
      DecodeTwin<ClampedPositive>("mutant:scale-clamped-at-zero",
                                  "decode makes 0 of negative and NaN scales"),
      DecodeTwin<SubnormalIsZero>("mutant:scale-subnormal-flushed",
                                  "decode makes 0 of subnormal scales"),
  };
}

}  // namespace mlafuzz
