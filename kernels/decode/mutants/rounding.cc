// Roundings other than those that are declared.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::Bf16Arithmetic;
using kernels::DecodeParams;
using kernels::DecodePolicy;

constexpr DecodeOptions kPartialsBf16 = {.bf16_partials = true};

__device__ unsigned TruncatedToBf16(float value) {
  return __float_as_uint(value) >> 16;
}

// To 11 bits, nearest even: fp16 of what is neither subnormal nor too large
// there.
__device__ float RoundedTo11Bits(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u);
}

struct DequantUnrounded : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ float Value(unsigned code, float scale) {
      return kernels::E4m3ToFloat(code) * scale;
    }
  };
};

struct QueryThroughE4m3 : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ void StageQuery(const DecodeParams& params,
                                      const std::uint16_t* q,
                                      const kernels::SplitMemory& shared) {
      Bf16Arithmetic::StageQuery(params, q, shared);
      for (int i = static_cast<int>(threadIdx.x); i < kernels::kLatent;
           i += kernels::kDecodeLanes) {
        shared.q[i] = kernels::E4m3ToFloat(kernels::FloatToE4m3(shared.q[i]));
      }
    }
  };
};

struct WeightsTowardZero : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ float Weight(float weight) {
      return kernels::Bf16ToFloat(TruncatedToBf16(weight));
    }
  };
};

struct WeightsInE4m3 : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ float Weight(float weight) {
      return kernels::E4m3ToFloat(kernels::FloatToE4m3(weight));
    }
  };
};

struct SumOfRounded : DecodePolicy {
  static __device__ float SummedWeight(float, float rounded) { return rounded; }
};

struct OutTruncated : DecodePolicy {
  static __device__ unsigned ToOutput(float value) {
    return value == value ? TruncatedToBf16(value)
                          : kernels::FloatToBf16(value);
  }
};

struct OutRoundedTwice : DecodePolicy {
  static __device__ unsigned ToOutput(float value) {
    return kernels::FloatToBf16(RoundedTo11Bits(value));
  }
};

}  // namespace

std::vector<CompiledDecode> RoundingFaults() {
  return {
      DecodeTwin<DequantUnrounded>("mutant:dequant-unrounded",
                                   "decode does not round values to bf16"),
      DecodeTwin<QueryThroughE4m3>("mutant:query-through-e4m3",
                                   "decode rounds queries to E4M3 without a "
                                   "scale"),
      DecodeTwin<WeightsTowardZero>("mutant:weights-toward-zero",
                                    "decode cuts weights to bf16"),
      DecodeTwin<WeightsInE4m3>("mutant:weights-in-e4m3",
                                "decode rounds weights to E4M3 without a "
                                "scale"),
      DecodeTwin<SumOfRounded>("mutant:sum-of-rounded-weights",
                               "decode divides by the sum of rounded weights"),
      DecodeTwin<OutTruncated>("mutant:out-toward-zero",
                               "decode cuts outputs to bf16"),
      DecodeTwin<OutRoundedTwice>("mutant:out-rounded-twice",
                                  "decode rounds outputs to 11 bits and then "
                                  "to bf16"),
      DecodeTwin<DecodePolicy, kPartialsBf16>("mutant:partials-in-bf16",
                                              "decode rounds the splits' "
                                              "outputs to bf16"),
  };
}

}  // namespace mlafuzz
