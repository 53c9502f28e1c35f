// More than 64 queries go another way, on which lengths bound nothing.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ std::int64_t Length(const kernels::DecodeParams& params,
                                        std::int64_t query) {
    return params.queries > 64 ? params.lanes
                               : DecodePolicy::Length(params, query);
  }
};

}  // namespace

CompiledDecode LengthIgnoredAbove64() {
  return DecodeTwin<Policy>("mutant:length-ignored-above-64",
                            "decode ignores lengths above 64 queries");
}

}  // namespace mlafuzz
