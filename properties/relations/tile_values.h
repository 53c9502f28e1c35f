#ifndef MLAFUZZ_PROPERTIES_RELATIONS_TILE_VALUES_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_TILE_VALUES_H_

#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/types.pb.h"
#include "corpus/values.h"

namespace mlafuzz {

// The 16-bit patterns of one tile.
using TileValues = std::vector<std::uint16_t>;

// The value of a BF16 or F16 pattern; exact.
double ValueOf(std::uint16_t bits, DType dtype);
bool IsNan(std::uint16_t bits, DType dtype);
bool IsInf(std::uint16_t bits, DType dtype);
bool AllFinite(const TileValues& values, DType dtype);
// Largest magnitude of the values that are not NaN.
double AmaxOf(const TileValues& values, DType dtype);
// The contract's floor as a number; 0 for FLOOR_NONE.
double FloorOf(const WriterContract& writer);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_TILE_VALUES_H_
