#ifndef MLAFUZZ_CORPUS_VALUES_H_
#define MLAFUZZ_CORPUS_VALUES_H_

#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"

namespace mlafuzz {

// Values a tile, that is what shares one scale, of fp8_ds_mla.
inline constexpr int kTileValues = 128;

// Element `at` (row * columns + column) of `values` as the 16-bit pattern of
// `dtype` (BF16 or F16), overrides not applied. Tiles are runs of 128 elements
// of the row-major tensor without gaps.
//
// Patterns are made by integer arithmetic on bit fields alone, from
// ValueGenerator(values.seed()): the same bits everywhere.
std::uint16_t GeneratedValue(const Values& values, DType dtype,
                             std::uint64_t at);

// Elements [0, count), overrides applied; overrides at or past `count` have no
// effect. Faster than one by one. `tile`: values a tile, a power of two, in
// place of 128.
std::vector<std::uint16_t> ExpandValues(const Values& values, DType dtype,
                                        std::uint64_t count,
                                        int tile = kTileValues);

// The same of an fp32 tensor, as fp32 patterns: upper halves as of BF16, lower
// halves from low_seed, or those of the overrides.
std::vector<std::uint32_t> ExpandFp32Values(const Values& values,
                                            std::uint64_t count,
                                            int tile = kTileValues);

// `count` integers of the list in the domain [0, n): see Integers. n = 0 gives
// zeros for generated entries.
std::vector<std::int64_t> ExpandIntegers(const Integers& list,
                                         std::uint64_t count, std::uint64_t n);

// All index rows, [rows, width] row-major, without gaps.
std::vector<std::int32_t> ExpandIndices(const Indices& indices);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_VALUES_H_
