// Codes that are decoded wrongly, and values that are mixed where they should
// not be, or not where they should.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::Bf16Arithmetic;
using kernels::DecodeParams;
using kernels::DecodePolicy;

__device__ float Product(float value, float scale) {
  return kernels::Bf16ToFloat(kernels::FloatToBf16(value * scale));
}

// 1.m 2^-7 for 0.m 2^-6: an exponent of 0 is taken for one like the others.
struct SubnormalAsNormal : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ float Value(unsigned code, float scale) {
      const unsigned magnitude = code & 0x7fu;
      if (magnitude == 0 || magnitude > 7) {
        return Bf16Arithmetic::Value(code, scale);
      }
      const float value =
          (1.0f + static_cast<float>(magnitude) / 8.0f) * 0x1p-7f;
      return Product((code & 0x80u) != 0 ? -value : value, scale);
    }
  };
};

struct NanIs480 : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ float Value(unsigned code, float scale) {
      if ((code & 0x7fu) != 0x7fu) return Bf16Arithmetic::Value(code, scale);
      return Product((code & 0x80u) != 0 ? -480.0f : 480.0f, scale);
    }
  };
};

struct LastChunkSkipped : DecodePolicy {
  static __device__ bool MixesChunk(int chunk) { return chunk != 31; }
};

// The score of a lane past the length is masked, the load of its values is not:
// weight 0 times NaN.
struct MaskedValueLoad : DecodePolicy {
  static __device__ std::int64_t MaskedRow(const DecodeParams& params,
                                           std::int32_t slot) {
    return slot < 0 ? -1 : RowAt(params, slot);
  }
};

}  // namespace

std::vector<CompiledDecode> ValueFaults() {
  return {
      DecodeTwin<SubnormalAsNormal>("mutant:code-subnormal-as-normal",
                                    "decode reads subnormal codes as normal"),
      DecodeTwin<NanIs480>("mutant:code-nan-as-480",
                           "decode reads the NaN code as 480"),
      DecodeTwin<LastChunkSkipped>("mutant:v-last-columns-skipped",
                                   "decode leaves out the last 16 columns of "
                                   "the values"),
      DecodeTwin<MaskedValueLoad>("mutant:masked-value-load",
                                  "decode reads the rows of lanes past the "
                                  "length, with weight 0"),
  };
}

}  // namespace mlafuzz
