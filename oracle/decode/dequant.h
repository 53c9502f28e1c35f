#ifndef MLAFUZZ_ORACLE_DECODE_DEQUANT_H_
#define MLAFUZZ_ORACLE_DECODE_DEQUANT_H_

#include <array>
#include <cstdint>

#include "corpus/contract.pb.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/read_scale.h"
#include "oracle/decode/row_values.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// How the 512 values of a row fall into tiles of equal width. A tile holds
// codes with one scale, or rope, which DeepSeek-V4 has among its values and
// which has none.
struct ValueTiles {
  int columns = kMaxTileColumns;
  int count = kLatent / kMaxTileColumns;
  int scaled = kLatent / kMaxTileColumns;  // the first ones, of codes

  // Column of q and of a dequantised row where rope begins; behind the last
  // value where it is no value.
  int rope_at() const { return columns * scaled; }
};
// `layout` is one whose rows have 512 values.
ValueTiles TilesOf(const RowLayout& layout);
// Whether a decode can read rows of this layout.
bool IsDecoded(const RowLayout& layout);

// The scales of a row's tiles; the first ValueTiles::count count.
using TileScales = std::array<ReadScale, kMaxTiles>;

// One side's reading of the 512 values of a row.
class Dequantiser {
 public:
  // What is wrong about rope among the values, or missing.
  struct Rope {
    bool read = true;    // else zeros
    int scaled_by = -1;  // tile whose scale it is multiplied with; none
  };

  // `codes`: values are the codes alone (the scale goes elsewhere), rope as it
  // is. `layout` outlives this.
  Dequantiser(const RowLayout& layout, const ReaderSide& side,
              const Arithmetic& arithmetic, bool codes, Rope rope);
  Dequantiser(const RowLayout& layout, const ReaderSide& side,
              const Arithmetic& arithmetic, bool codes)
      : Dequantiser(layout, side, arithmetic, codes, Rope()) {}

  // values [512]; radius [512], written only if has_radius. `token`: a token's
  // bytes in one run, those behind the rows of its page last.
  RowFacts Row(const std::uint8_t* token, double* values, double* radius) const;

  // The scales as this side reads them; 1 of a tile of rope.
  TileScales Scales(const std::uint8_t* token) const;

  const ValueTiles& tiles() const { return tiles_; }

  // Whether `other` gives the same values for every row.
  bool SameAs(const Dequantiser& other) const;

  const ValueRules& rules() const { return rules_; }
  const SideRules& side() const { return side_; }
  // Whether rope among the values is read; else it is zeros.
  bool reads_rope() const { return rope_.read; }

 private:
  void FastTile(const std::uint8_t* codes, float scale, double* values) const;
  void SlowTile(const std::uint8_t* codes, float scale, double* values,
                double* radius, RowFacts* facts) const;

  // The rope of a row into its columns of `values`.
  void ReadOwnRope(const std::uint8_t* token, const TileScales& scales,
                   double* values, RowFacts* facts) const;

  const RowLayout& layout_;
  ValueTiles tiles_;
  SideRules side_;
  Rope rope_;
  ValueRules rules_;
  ArithmeticRules::Denormals denormals_;
  const std::array<float, 256>& table_;
};

// Dequantised rows of consecutive keys of a plan, latent then rope. Large; made
// once a call and not cleared.
struct DequantisedRows {
  // Room for a whole split of the usual size (8 blocks of 64), so that both
  // sides can share its rows and the cost stays linear in the keys.
  static constexpr int kCapacity = 512;
  // Rows that are dequantised and used at a time, for all heads: 64 of them in
  // fp64 fit a second-level cache.
  static constexpr int kChunk = 64;

  int first = 0;  // key
  int count = 0;
  RowFacts facts[kCapacity];
  double value[kCapacity][kLatent + kRope];
  double radius[kCapacity][kLatent];  // where facts.has_radius
};

// bf16 rope values [64] of a row, or of any 128 bytes. Of the facts only
// `finite`, `largest` and, if asked for, `granule`.
RowFacts ReadRope(const std::uint8_t* bytes, bool with_granule, double* values);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DEQUANT_H_
