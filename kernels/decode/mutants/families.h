#ifndef MLAFUZZ_KERNELS_DECODE_MUTANTS_FAMILIES_H_
#define MLAFUZZ_KERNELS_DECODE_MUTANTS_FAMILIES_H_

#include <vector>

#include "kernels/decode/compiled_decode.h"

namespace mlafuzz {

// Wrong decodes by what they get wrong, a file each; a comment there says which
// faults of real kernels they repeat.
std::vector<CompiledDecode> ScaleFaults();
std::vector<CompiledDecode> ValueFaults();
std::vector<CompiledDecode> QueryFaults();
std::vector<CompiledDecode> RoundingFaults();
std::vector<CompiledDecode> MaskingFaults();
std::vector<CompiledDecode> SoftmaxFaults();
std::vector<CompiledDecode> MergeFaults();
std::vector<CompiledDecode> SinkFaults();
std::vector<CompiledDecode> AddressFaults();
std::vector<CompiledDecode> OutputFaults();
std::vector<CompiledDecode> BarrierFaults();
std::vector<CompiledDecode> HostFaults();
std::vector<CompiledDecode> StateFaults();
// Decodes that never were meant to be right.
std::vector<CompiledDecode> CheatingDecodes();

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_MUTANTS_FAMILIES_H_
