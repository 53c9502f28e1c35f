// Sinks, and the LSE as it is returned.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeOutput;
using kernels::DecodeParams;
using kernels::DecodePolicy;

struct SinkInBase2 : DecodePolicy {
  static __device__ float Sink(const DecodeParams& params, std::int64_t head) {
    return DecodePolicy::Sink(params, head) / kernels::kLog2E;
  }
};

// Each split adds the sink to its own sum.
struct SinkInEverySplit : DecodePolicy {
  static __device__ float Sink(const DecodeParams& params, std::int64_t head) {
    const float sink = DecodePolicy::Sink(params, head);
    return params.splits > 1 ? sink + log2f(static_cast<float>(params.splits))
                             : sink;
  }
};

struct LseInBaseEOfOneSplit : DecodePolicy {
  static __device__ float LseToStore(const DecodeParams& params, float lse) {
    return params.splits == 1 ? lse * kernels::kLn2 : lse;
  }
};

// Heads go in groups of 16; a last one that is not full has its first head's
// sink for all.
struct SinkOfRaggedGroup : DecodePolicy {
  static __device__ float Sink(const DecodeParams& params, std::int64_t head) {
    constexpr std::int64_t kGroup = 16;
    const bool ragged =
        params.heads > kGroup && head >= params.heads / kGroup * kGroup;
    return DecodePolicy::Sink(params, ragged ? head - head % kGroup : head);
  }
};

// Rows without keys leave early, before sinks are looked at.
struct EmptyRowLeavesEarly : DecodePolicy {
  static __device__ bool StoresOutput(const DecodeParams& params,
                                      const DecodeOutput& output, float keys) {
    if (keys != 0.0f) return true;
    std::uint16_t* out = params.out + output.query * params.out_query_stride +
                         output.head * params.out_head_stride + 4 * threadIdx.x;
    for (int c = 0; c < 4; ++c) out[c] = 0;
    if (threadIdx.x == 0) {
      params.lse[output.query * params.lse_query_stride +
                 output.head * params.lse_head_stride] = -INFINITY;
    }
    return false;
  }
};

void SinkOfFirstHead(DecodeParams& params) { params.sinks_stride = 0; }
void SinkNotInLse(DecodeParams& params) { params.sink_in_lse = false; }
void EmptyPlusInf(DecodeParams& params) { params.empty_plus_inf = true; }

}  // namespace

std::vector<CompiledDecode> SinkFaults() {
  return {
      DecodeTwin<SinkInBase2>("mutant:sink-in-base-2",
                              "decode takes sinks for logits in base 2"),
      DecodeTwin<SinkInEverySplit>("mutant:sink-in-every-split",
                                   "decode counts the sink once for every "
                                   "split"),
      DecodeTwin<SinkOfRaggedGroup>("mutant:sink-of-ragged-group",
                                    "decode takes one sink for a last group "
                                    "of heads that is not full"),
      DecodeTwin<EmptyRowLeavesEarly>("mutant:empty-row-without-sink",
                                      "decode leaves the sink out of the LSE "
                                      "of rows without keys"),
      DecodeHostTwin<SinkOfFirstHead>("mutant:sink-of-first-head",
                                      "decode takes the first head's sink for "
                                      "all"),
      DecodeHostTwin<SinkNotInLse>("mutant:sink-not-in-lse",
                                   "decode leaves the sink out of the LSE"),
      DecodeHostTwin<EmptyPlusInf>("mutant:empty-row-plus-inf",
                                   "decode gives rows without keys an LSE of "
                                   "+Inf"),
      DecodeTwin<LseInBaseEOfOneSplit>("mutant:lse-natural-of-one-split",
                                       "decode returns a natural LSE where "
                                       "nothing is merged"),
  };
}

}  // namespace mlafuzz
