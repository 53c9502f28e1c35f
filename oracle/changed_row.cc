#include "oracle/changed_row.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mlafuzz::oracle {
namespace {

template <int kBy>
void RotateScales(const RowLayout& layout, std::uint8_t* row) {
  if (kBy >= layout.tiles()) return;
  std::uint8_t* scales = row + layout.scales_at;
  std::rotate(scales, scales + kBy * layout.scale_bytes,
              scales + layout.tiles() * layout.scale_bytes);
}

void TurnScales(const RowLayout& layout, std::uint8_t* row) {
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    std::uint8_t* scale = row + layout.scales_at + tile * layout.scale_bytes;
    std::reverse(scale, scale + layout.scale_bytes);
  }
}

void TurnCodes(const RowLayout& layout, std::uint8_t* row) {
  for (int i = 0; i < layout.codes; i += 4) {
    std::reverse(row + layout.codes_at + i, row + layout.codes_at + i + 4);
  }
}

void SwapTiles(const RowLayout& layout, std::uint8_t* row) {
  for (int tile = 0; tile + 1 < layout.tiles(); tile += 2) {
    std::uint8_t* codes = row + layout.codes_at + tile * layout.tile;
    std::swap_ranges(codes, codes + layout.tile, codes + layout.tile);
  }
}

void SwapTilesAndScales(const RowLayout& layout, std::uint8_t* row) {
  SwapTiles(layout, row);
  for (int tile = 0; tile + 1 < layout.tiles(); tile += 2) {
    std::uint8_t* scale = row + layout.scales_at + tile * layout.scale_bytes;
    std::swap_ranges(scale, scale + layout.scale_bytes,
                     scale + layout.scale_bytes);
  }
}

void SwapRopePairs(const RowLayout& layout, std::uint8_t* row) {
  for (int i = 0; i + 1 < layout.rope; i += 2) {
    std::uint8_t* pair = row + layout.rope_at + 2 * i;
    std::swap_ranges(pair, pair + 2, pair + 2);
  }
}

void DeinterleaveRope(const RowLayout& layout, std::uint8_t* row) {
  std::vector<std::uint8_t> rope(row + layout.rope_at, row + layout.rope_end());
  for (int i = 0; i < layout.rope; ++i) {
    const int to = i / 2 + (i % 2) * (layout.rope / 2);
    std::memcpy(row + layout.rope_at + 2 * to, rope.data() + 2 * i, 2);
  }
}

constexpr RowChange kChanges[] = {
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<1>},
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<2>},
    {"scales-rotated", "has each scale in the place of another tile's",
     RotateScales<3>},
    {"scale-byte-order", "has the bytes of each scale in reverse", TurnScales},
    {"code-byte-order", "has the codes of each word in reverse", TurnCodes},
    {"tiles-swapped", "has the codes of two tiles in each other's place",
     SwapTiles},
    {"tiles-swapped", "has two tiles in each other's place",
     SwapTilesAndScales},
    {"rope-pairs-swapped", "has the values of each pair of the rope swapped",
     SwapRopePairs},
    {"rope-deinterleaved",
     "has even values of the rope in front and odd ones behind",
     DeinterleaveRope},
};

}  // namespace

absl::Span<const RowChange> RowChanges() { return kChanges; }

}  // namespace mlafuzz::oracle
