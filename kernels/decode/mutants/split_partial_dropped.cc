// The merge of several splits leaves out the last one.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ std::int64_t MergedSplits(
      const kernels::DecodeParams& params) {
    return params.splits > 1 ? params.splits - 1 : params.splits;
  }
};

}  // namespace

CompiledDecode SplitPartialDropped() {
  return DecodeTwin<Policy>("mutant:split-partial-dropped",
                            "decode drops the last of several splits");
}

}  // namespace mlafuzz
