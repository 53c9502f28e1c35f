#include "kernels/decode/mutants/mutants.h"

namespace mlafuzz {

std::vector<CompiledDecode> DecodeMutants() {
  return {
      QkPow2Scale(),           VPow2Scale(),
      BothPow2Scale(),         CapacityFromTopkRefuses(),
      CapacityFromTopkClips(), LengthIgnoredAbove64(),
      AllMaskedUnitWeight(),   MaskedLaneReadsSlot0(),
      LeadingBlockNan(),       MissingRescale(),
      SinkDropped(),           LseWrongBase(),
      TailReadAsRope(),        SplitPartialDropped(),
  };
}

}  // namespace mlafuzz
