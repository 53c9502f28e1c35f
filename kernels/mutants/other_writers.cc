// Wrong twins of the fused store and of the writer with 8 lanes a tile.
#include <string_view>

#include "corpus/contracts.h"
#include "kernels/mutants/variants.h"
#include "kernels/writer_calls.h"
#include "kernels/writers.h"

namespace mlafuzz {
namespace {

using kernels::FusedWriterPolicy;
using kernels::WriterBy16Policy;
using kernels::WriterParams;

// ------------------------------------------------------------ The fused store

// The native writer's division.
struct Divides : FusedWriterPolicy {
  static __device__ float DivideBy448(float amax) {
    return __fdiv_rn(amax, 448.0f);
  }
};

// 1e-4 also where scales are stored as computed.
struct HighFloor : FusedWriterPolicy {
  template <class Policy>
  static __device__ float Scale(float amax, bool) {
    return kernels::MaxIgnoringNan(1e-4f, Policy::DivideBy448(amax));
  }
};

// Values times the reciprocal of the scale.
struct TimesReciprocal : FusedWriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return kernels::FloatToE4m3(
        __fmul_rn(Input::ToFloat(bits), __fdiv_rn(1.0f, scale)));
  }
};

// A page's tokens are counted as its stride over a row's: pages with a gap
// behind them hold fewer.
struct PageSizeFromStrides : FusedWriterPolicy {
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    const std::int64_t size = params.page_stride / params.row_stride;
    return params.cache + slot / size * params.page_stride +
           slot % size * params.row_stride;
  }
};

struct OnlyMinusOne : FusedWriterPolicy {
  static __device__ bool Skips(std::int64_t slot) { return slot == -1; }
};

// The maximum of a tile is that of its first half: one step too few.
struct HalfTile : FusedWriterPolicy {
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 8; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 32));
    }
    return amax;
  }
};

// -------------------------------------------- The fused store of fp32 values

// Values come through bf16, as a norm that stores its result would leave them.
struct ThroughBf16 : FusedWriterPolicy {
  static __device__ float Fp32Value(float value) {
    return kernels::Bf16ToFloat(kernels::FloatToBf16(value));
  }
};

// Rope is cut off to bf16 instead of rounded.
struct RopeCutOff : FusedWriterPolicy {
  static __device__ unsigned Fp32Rope(float value) {
    return __float_as_uint(value) >> 16;
  }
};

// ------------------------------------------------------- Eight lanes for a
// tile

// The conversion of the payload falls through to a cast.
struct Fallthrough : WriterBy16Policy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float) {
    return bits >> 8;
  }
};

// Sixteen lanes agree on a maximum, as with eight values a lane.
struct TwoTiles : WriterBy16Policy {
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 8; distance > 0; distance /= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 16));
    }
    return amax;
  }
};

// A lane's second eight values count for no maximum.
struct FirstHalf : WriterBy16Policy {
  template <class Policy, class Input>
  static __device__ float LaneMax(const uint4 (&halves)[2]) {
    const uint4 both[2] = {halves[0], halves[0]};
    return WriterBy16Policy::LaneMax<Policy, Input>(both);
  }
};

// Codes of a lane's two halves lie a tile apart.
struct HalvesApart : WriterBy16Policy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    WriterBy16Policy::StoreCodes(row, lane / 2 + 32 * (lane % 2), codes);
  }
};

// What the right ones promise.
Contract ContractOf(const char* right) {
  for (const CompiledTarget& target : WriterTargets()) {
    if (std::string_view(target.name) == right) return target.contract();
  }
  return BuiltinContract();
}
Contract TritonContract() { return ContractOf("builtin:triton"); }
Contract TritonFp32Contract() { return ContractOf("builtin:triton-fp32"); }
Contract KimiContract() { return ContractOf("builtin:kimi-k3"); }

template <class Policy>
CompiledTarget Fused(const char* name, const char* what) {
  return {.name = name,
          .what = what,
          .kernels = {.write = CallFusedWriter<Policy>},
          .contract = TritonContract,
          .rest = "builtin:triton"};
}

template <class Policy>
CompiledTarget FusedFp32(const char* name, const char* what) {
  return {.name = name,
          .what = what,
          .kernels = {.write = CallFusedWriter<Policy, false, true>},
          .contract = TritonFp32Contract,
          .rest = "builtin:triton-fp32"};
}

template <class Policy>
CompiledTarget By16(const char* name, const char* what) {
  return {.name = name,
          .what = what,
          .kernels = {.write = CallWriterBy16<Policy>},
          .contract = KimiContract,
          .rest = "builtin:kimi-k3"};
}

}  // namespace

std::vector<CompiledTarget> OtherWriterMutants() {
  return {
      Fused<Divides>("mutant:triton-divides",
                     "fused store divides amax by 448 as the native writer"),
      Fused<HighFloor>("mutant:triton-high-floor",
                       "fused store floors raw scales at 1e-4"),
      Fused<TimesReciprocal>("mutant:triton-codes-reciprocal",
                             "fused store multiplies by 1/scale"),
      Fused<PageSizeFromStrides>(
          "mutant:triton-page-size-from-strides",
          "fused store takes a page's stride over a row's for its size"),
      FusedFp32<ThroughBf16>("mutant:triton-fp32-through-bf16",
                             "fused store rounds fp32 values to bf16 first"),
      FusedFp32<RopeCutOff>("mutant:triton-fp32-rope-cut-off",
                            "fused store cuts fp32 rope off to bf16"),
      Fused<OnlyMinusOne>("mutant:triton-minus-one-only",
                          "fused store skips only slot -1"),
      Fused<HalfTile>("mutant:triton-amax-half-tile",
                      "fused store takes a scale for half a tile"),
      By16<Fallthrough>("mutant:kimi-payload-fallthrough",
                        "8-lane writer stores the high byte of each value"),
      By16<TwoTiles>("mutant:kimi-amax-two-tiles",
                     "8-lane writer takes one maximum for two tiles"),
      By16<FirstHalf>("mutant:kimi-amax-first-half",
                      "8-lane writer leaves every other eight values out of "
                      "the maximum"),
      By16<HalvesApart>("mutant:kimi-halves-apart",
                        "8-lane writer stores a lane's halves apart"),
  };
}

}  // namespace mlafuzz
