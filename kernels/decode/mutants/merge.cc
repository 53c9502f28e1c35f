// What splits leave and how they are merged.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodePolicy;

struct EmptyStatesNan : DecodePolicy {
  // -Inf less -Inf.
  static __device__ float SplitWeight(float lse, float max) {
    return exp2f(lse - max);
  }
};

// As if the splits' LSEs, which have base 2, were natural.
struct MergeInBaseE : DecodePolicy {
  static __device__ float SplitWeight(float lse, float max) {
    if (lse == -INFINITY) return 0.0f;
    return kernels::Weight((lse - max) * kernels::kLog2E, 0.0f);
  }
};

struct EqualWeights : DecodePolicy {
  static __device__ float SplitWeight(float lse, float) {
    return lse == -INFINITY ? 0.0f : kernels::Weight(lse, lse);
  }
};

struct EmptyWeighsOne : DecodePolicy {
  static __device__ float SplitWeight(float lse, float max) {
    return lse == -INFINITY && max != -INFINITY ? 1.0f
                                                : kernels::Weight(lse, max);
  }
};

// The merge reads what scratch memory held before the call.
struct EmptyUnwritten : DecodePolicy {
  static __device__ bool LeavesPartial(float sum) { return sum != 0.0f; }
};

struct SplitsOverlap : DecodePolicy {
  static __device__ std::int64_t FirstBlock(std::int64_t cut) {
    return cut > 0 ? cut - 1 : 0;
  }
};

struct LseWithoutMax : DecodePolicy {
  static __device__ float SplitLse(float, float sum) { return log2f(sum); }
};

// One arithmetic of several without the guard of the others.
constexpr DecodeOptions kE4m3 = {.arithmetic = DecodeArithmetic::kE4m3};
struct E4m3ZeroSum : DecodePolicy {
  using Arithmetic = kernels::E4m3Arithmetic<1>;
  static __device__ float SplitValue(float mixed, float sum) {
    return __fdiv_rn(mixed, sum);
  }
};

CompiledDecode E4m3ZeroSumUnguarded() {
  CompiledDecode twin = DecodeTwin<E4m3ZeroSum, kE4m3>(
      "mutant:e4m3-zero-sum-unguarded",
      "decode in E4M3 divides by zero where a split has no keys");
  twin.contract = [] { return DecodeContractOf(kE4m3); };
  return twin;
}

// Each split has as many blocks as the division leaves whole: what lies behind
// the last one's is nobody's.
struct WholeSharesAlone : DecodePolicy {
  static __device__ std::int64_t Length(const kernels::DecodeParams& params,
                                        std::int64_t query) {
    const std::int64_t length = DecodePolicy::Length(params, query);
    if (params.blocks_per_split > 0 || params.splits == 0) return length;
    const std::int64_t lanes = kernels::BlocksOf(params) / params.splits *
                               params.splits * kernels::kBlockKeys;
    return length < lanes ? length : lanes;
  }
};

}  // namespace

std::vector<CompiledDecode> MergeFaults() {
  return {
      DecodeTwin<EmptyStatesNan>("mutant:merge-of-empty-nan",
                                 "decode makes NaN of splits without keys that "
                                 "are merged"),
      DecodeTwin<MergeInBaseE>("mutant:merge-in-base-e",
                               "decode merges splits as if their LSEs were "
                               "natural"),
      DecodeTwin<EqualWeights>("mutant:merge-equal-weights",
                               "decode gives all splits the same weight"),
      DecodeTwin<WholeSharesAlone>("mutant:uneven-blocks-dropped",
                                   "decode leaves out blocks that splits do "
                                   "not divide"),
      DecodeTwin<EmptyWeighsOne>("mutant:empty-split-weighs-one",
                                 "decode gives a split without keys the weight "
                                 "of the largest"),
      DecodeTwin<EmptyUnwritten>("mutant:empty-split-unwritten",
                                 "decode merges scratch that a split without "
                                 "keys did not write"),
      DecodeTwin<SplitsOverlap>("mutant:splits-overlap",
                                "decode counts the last block of a split in "
                                "the next as well"),
      DecodeTwin<LseWithoutMax>("mutant:lse-without-max",
                                "decode leaves the maximum out of the LSE"),
      E4m3ZeroSumUnguarded(),
  };
}

}  // namespace mlafuzz
