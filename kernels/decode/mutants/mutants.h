#ifndef MLAFUZZ_KERNELS_DECODE_MUTANTS_MUTANTS_H_
#define MLAFUZZ_KERNELS_DECODE_MUTANTS_MUTANTS_H_

#include <vector>

#include "kernels/decode/compiled_decode.h"

namespace mlafuzz {

// Wrong decodes: each is builtin with one decision changed, those that are
// named here in the file of their name; families.h has the others.

// What a reader does to scales.
CompiledDecode QkPow2Scale();
CompiledDecode VPow2Scale();
CompiledDecode BothPow2Scale();

// Which candidates count.
CompiledDecode CapacityFromTopkRefuses();
CompiledDecode CapacityFromTopkClips();
CompiledDecode LengthIgnoredAbove64();

// Masked lanes.
CompiledDecode AllMaskedUnitWeight();
CompiledDecode MaskedLaneReadsSlot0();
CompiledDecode LeadingBlockNan();

// Softmax, sink and LSE.
CompiledDecode MissingRescale();
CompiledDecode SinkDropped();
CompiledDecode LseWrongBase();

// The tail, the merge.
CompiledDecode TailReadAsRope();
CompiledDecode SplitPartialDropped();

// All of them.
std::vector<CompiledDecode> DecodeMutants();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_MUTANTS_MUTANTS_H_
