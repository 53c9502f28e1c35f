#include "kernels/decode/mutants/mutants.h"

#include "kernels/decode/mutants/families.h"

namespace mlafuzz {

std::vector<CompiledDecode> DecodeMutants() {
  std::vector<CompiledDecode> all = {
      QkPow2Scale(),           VPow2Scale(),
      BothPow2Scale(),         CapacityFromTopkRefuses(),
      CapacityFromTopkClips(), LengthIgnoredAbove64(),
      AllMaskedUnitWeight(),   MaskedLaneReadsSlot0(),
      LeadingBlockNan(),       MissingRescale(),
      SinkDropped(),           LseWrongBase(),
      TailReadAsRope(),        SplitPartialDropped(),
  };
  for (const auto family :
       {ScaleFaults, ValueFaults, QueryFaults, RoundingFaults, MaskingFaults,
        SoftmaxFaults, MergeFaults, SinkFaults, AddressFaults, OutputFaults,
        BarrierFaults, HostFaults, StateFaults, CheatingDecodes}) {
    for (const CompiledDecode& twin : family()) all.push_back(twin);
  }
  return all;
}

}  // namespace mlafuzz
