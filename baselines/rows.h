// The 656-byte row (512 E4M3 codes, 4 fp32 tile scales, 64 bf16 of rope) as the
// published tests' own packers and unpackers have it.
#ifndef MLAFUZZ_BASELINES_ROWS_H_
#define MLAFUZZ_BASELINES_ROWS_H_

#include <cstdint>
#include <vector>

#include "corpus/image.h"

namespace mlafuzz::baselines {

inline constexpr int kLatent = 512;
inline constexpr int kRope = 64;
inline constexpr int kColumns = kLatent + kRope;
inline constexpr int kRowBytes = 656;
inline constexpr int kTile = 128;
inline constexpr int kTiles = kLatent / kTile;

enum class TileScale {
  kRaw,   // amax / 448
  kPow2,  // 2^ceil(log2(max(amax / 448, 1e-4)))
};

// fp32(amax / 448) as `rule` has it, of a tile whose largest magnitude is
// `amax`; NaN for NaN.
float ScaleOf(float amax, TileScale rule);

// A row of [kColumns] bf16 into [kRowBytes]. `least_amax`: a smaller amax
// counts as this. A NaN makes its tile's scale NaN, as torch's amax does.
void PackRow(const std::uint16_t* values, TileScale rule, float least_amax,
             std::uint8_t* row);

enum class Through { kBf16, kFp16 };

// A row of [kRowBytes] into [kColumns] values of bf16: fp32(code * scale)
// rounded once, or to fp16 first.
void UnpackRow(const std::uint8_t* row, Through through, float* values);

// A dense pool of zeros; `extra_rows` unused rows follow each page.
PoolImage EmptyPool(std::int64_t pages, std::int64_t page_size,
                    std::int64_t extra_rows = 0);

// All slots of a pool: [slots, kColumns].
std::vector<float> UnpackPool(const PoolImage& pool, Through through);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_ROWS_H_
