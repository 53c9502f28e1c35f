// A masked lane reads slot 0 and gives it weight 0: a NaN there still gets into
// the output.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ std::int64_t MaskedRow(const kernels::DecodeParams&,
                                           std::int32_t) {
    return 0;
  }
};

}  // namespace

CompiledDecode MaskedLaneReadsSlot0() {
  return DecodeTwin<Policy>(
      "mutant:masked-lane-reads-slot0",
      "decode reads slot 0 for masked lanes, with weight 0");
}

}  // namespace mlafuzz
