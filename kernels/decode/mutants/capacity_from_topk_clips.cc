// Candidates past the model's top-k are dropped, though the buffer is wider
// (2176 for a top-k of 2048 with an incomplete pool).
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static std::int64_t Lanes(const kernels::DecodeParams& params) {
    const std::int64_t topk = params.declared_topk;
    return topk > 0 && topk < params.width ? topk : params.width;
  }
};

}  // namespace

CompiledDecode CapacityFromTopkClips() {
  return DecodeTwin<Policy>("mutant:capacity-from-topk-clips",
                            "decode drops candidates past the declared top-k");
}

}  // namespace mlafuzz
