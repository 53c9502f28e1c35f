// Rows that are not written, and bytes that are nobody's.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeOutput;
using kernels::DecodeParams;
using kernels::DecodePolicy;

// Heads go by pairs.
struct OddHeadUnwritten : DecodePolicy {
  static __device__ bool StoresOutput(const DecodeParams& params,
                                      const DecodeOutput& output, float) {
    return params.heads % 2 == 0 || params.heads == 1 ||
           output.head + 1 != params.heads;
  }
};

struct EmptyRowUnwritten : DecodePolicy {
  static __device__ bool StoresOutput(const DecodeParams&, const DecodeOutput&,
                                      float keys) {
    return keys != 0.0f;
  }
};

struct EmptyLseUnwritten : DecodePolicy {
  static __device__ bool StoresLse(const DecodeParams&, float keys) {
    return keys != 0.0f;
  }
};

struct LseOfMergedAlone : DecodePolicy {
  static __device__ bool StoresLse(const DecodeParams& params, float) {
    return params.splits != 1;
  }
};

struct StorePastRow : DecodePolicy {
  static __device__ void OutputStored(const DecodeParams&, std::uint16_t* out) {
    if (threadIdx.x == kernels::kDecodeLanes - 1) out[4] = 0;
  }
};

}  // namespace

std::vector<CompiledDecode> OutputFaults() {
  return {
      DecodeTwin<OddHeadUnwritten>("mutant:odd-head-unwritten",
                                   "decode leaves the last of an odd number of "
                                   "heads unwritten"),
      DecodeTwin<EmptyRowUnwritten>("mutant:empty-row-unwritten",
                                    "decode leaves rows without keys "
                                    "unwritten"),
      DecodeTwin<EmptyLseUnwritten>("mutant:empty-row-lse-unwritten",
                                    "decode leaves the LSE of rows without "
                                    "keys unwritten"),
      DecodeTwin<LseOfMergedAlone>("mutant:lse-of-one-split-unwritten",
                                   "decode leaves the LSE unwritten where "
                                   "nothing is merged"),
      DecodeTwin<StorePastRow>("mutant:store-past-row",
                               "decode stores one value past each row"),
  };
}

}  // namespace mlafuzz
