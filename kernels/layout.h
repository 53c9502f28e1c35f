// Where things stand in a cache row, for kernels and their host checks. The
// oracle has its own description (oracle/): nothing is shared on purpose.
#ifndef MLAFUZZ_KERNELS_LAYOUT_H_
#define MLAFUZZ_KERNELS_LAYOUT_H_

namespace mlafuzz::kernels {

inline constexpr int kLatent = 512;                        // values a row
inline constexpr int kTile = 128;                          // values a scale
inline constexpr int kTiles = kLatent / kTile;             // scales a row
inline constexpr int kRope = 64;                           // values a row
inline constexpr int kScaleAt = kLatent;                   // byte 512
inline constexpr int kTailAt = kScaleAt + kTiles * 4;      // byte 528
inline constexpr int kRowBytes = kTailAt + kRope * 2;      // 656
inline constexpr int kWorkspaceColumns = kLatent + kRope;  // 576

}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUT_H_
