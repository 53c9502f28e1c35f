// The parts of q and of the row that meet.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::Bf16Arithmetic;
using kernels::DecodeParams;
using kernels::DecodePolicy;

struct RopeFirstHalf : DecodePolicy {
  static __device__ int QueryHalf(int half) { return half == 0 ? 0 : -1; }
};

struct RopeHalvesSwapped : DecodePolicy {
  static __device__ int QueryHalf(int half) { return 1 - half; }
};

struct RopeDropped : DecodePolicy {
  static __device__ int TailMeets(const DecodeParams&) { return -1; }
};

struct LastTileDropped : DecodePolicy {
  static __device__ bool MeetsTile(int tile) {
    return tile != kernels::kTiles - 1;
  }
};

// Without rope the row's tail meets what lies behind the query in memory.
struct TailMeetsStorage : DecodePolicy {
  struct Arithmetic : Bf16Arithmetic {
    static __device__ void StageQuery(const DecodeParams&,
                                      const std::uint16_t* q,
                                      const kernels::SplitMemory& shared) {
      kernels::StageBf16(q, 0, kernels::kLatent + kernels::kRope, shared);
    }
  };
  static __device__ int TailMeets(const DecodeParams&) {
    return kernels::kLatent;
  }
};

}  // namespace

std::vector<CompiledDecode> QueryFaults() {
  return {
      DecodeTwin<RopeFirstHalf>("mutant:rope-first-half",
                                "decode leaves out the second half of the "
                                "rope"),
      DecodeTwin<RopeHalvesSwapped>("mutant:rope-halves-swapped",
                                    "decode swaps the halves of the query's "
                                    "rope"),
      DecodeTwin<RopeDropped>("mutant:rope-dropped",
                              "decode leaves the rope out of the logits"),
      DecodeTwin<LastTileDropped>("mutant:qk-last-tile-dropped",
                                  "decode leaves the last tile out of the "
                                  "logits"),
      DecodeTwin<TailMeetsStorage>("mutant:tail-meets-storage",
                                   "decode without rope meets the tail with "
                                   "what follows the query"),
  };
}

}  // namespace mlafuzz
