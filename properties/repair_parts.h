// What the repairs of several calls have in common.
#ifndef MLAFUZZ_PROPERTIES_REPAIR_PARTS_H_
#define MLAFUZZ_PROPERTIES_REPAIR_PARTS_H_

#include <cstdint>

#include "corpus/case.pb.h"

namespace mlafuzz {

// A stride in elements: 0, or at least `least` and a multiple of `multiple`.
// `free`: any stride (one that a host must refuse) from 1 on.
std::uint32_t RepairStride(std::uint32_t stride, std::uint32_t least,
                           std::uint32_t multiple, bool free);

// Known pattern, 16-bit values, replaced values within the first `count`.
void RepairPatterns(Values& values, std::uint64_t count);

// Drops replaced entries outside the rows.
void KeepSets(Indices& indices);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_REPAIR_PARTS_H_
