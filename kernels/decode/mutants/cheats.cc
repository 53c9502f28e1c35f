// Decodes that look right to a test that is content with little.
#include <atomic>

#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::DecodePolicy;

// Means of values near 0 are near 0, and the LSE is right.
struct Zeros : DecodePolicy {
  static __device__ unsigned ToOutput(float) { return 0; }
};

void NoScores(DecodeParams& params) { params.scale_log2 = 0.0f; }

void FirstQueryForAll(DecodeParams& params) {
  params.q_query_stride = 0;
  params.indices_row_stride = 0;
  params.lengths_stride = 0;
}

CallResult RefusesWide(const DecodeArgs& args, const LaunchContext& context) {
  if (args.indices != nullptr && args.indices->ndim == 2 &&
      args.indices->shape[1] > 64) {
    return CallResult::Refused("more than 64 candidates are not supported");
  }
  return RunDecode(args, context, {});
}

// Enough for whoever calls once.
CallResult FirstCallAlone(const DecodeArgs& args,
                          const LaunchContext& context) {
  static std::atomic<bool> called{false};
  if (!called.exchange(true)) return RunDecode(args, context, {});
  return DecodeAdjusted(args, context, NoScores);
}

}  // namespace

std::vector<CompiledDecode> CheatingDecodes() {
  return {
      DecodeTwin<Zeros>("mutant:zero-output",
                        "decode returns zeros beside a right LSE"),
      DecodeHostTwin<NoScores>("mutant:mean-of-values",
                               "decode returns the mean of its keys' values"),
      DecodeHostTwin<FirstQueryForAll>("mutant:first-query-for-all",
                                       "decode returns the first query's "
                                       "result for all"),
      DecodeCallTwin<RefusesWide>("mutant:refuses-wide-rows",
                                  "decode refuses more than 64 candidates"),
      DecodeCallTwin<FirstCallAlone>("mutant:right-on-first-call",
                                     "decode is right on its first call alone"),
  };
}

}  // namespace mlafuzz
