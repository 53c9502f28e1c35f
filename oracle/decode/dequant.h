#ifndef MLAFUZZ_ORACLE_DECODE_DEQUANT_H_
#define MLAFUZZ_ORACLE_DECODE_DEQUANT_H_

#include <array>
#include <cstdint>

#include "corpus/contract.pb.h"
#include "oracle/decode/interval.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

inline constexpr int kLatent = 512;  // values of a row, whatever the layout
inline constexpr int kRope = 64;
inline constexpr int kMaxTiles = 16;
inline constexpr int kMaxTileColumns = 128;

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

// What is known of one dequantised row beside its values.
struct RowFacts {
  bool unknown = false;     // the rule says nothing about some scale
  bool has_radius = false;  // some value is known only within a radius
  bool finite = true;       // all values are
  double largest = 0;       // at least the largest magnitude of a finite value
  // By how much what is lost below the normal range may grow afterwards: the
  // largest scale that follows a sum, at least 1.
  double growth = 1;
  // Every value is an integer multiple of this power of two; 0: not looked for.
  double granule = 0;
};

// What a reader makes of one stored tile scale.
struct ReadScale {
  float value;
  bool unknown = false;  // the rule speaks of positive normal scales only
};
ReadScale ReadTileScale(ReaderSide::ScaleRule rule, std::uint32_t stored);
// Of a UE8M0 byte, which is a power of two under every rule that reads it.
ReadScale ReadTileScale(const ReaderSide& side, std::uint8_t stored);

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

  // Roundings between a code times its scale and the sum over the row, beyond
  // those that Row() simulates.
  double roundings() const;
  // Whether sums may be formed of codes, their scale following.
  bool scale_may_follow() const;
  // Whether value times a bf16 number is exact in fp32.
  bool short_products() const;

 private:
  void FastTile(const std::uint8_t* codes, float scale, double* values) const;
  void SlowTile(const std::uint8_t* codes, float scale, double* values,
                double* radius, RowFacts* facts) const;

  // The rope of a row into its columns of `values`.
  void ReadOwnRope(const std::uint8_t* token, const TileScales& scales,
                   double* values, RowFacts* facts) const;

  const RowLayout& layout_;
  ValueTiles tiles_;
  ReaderSide side_;
  Rope rope_;
  Arithmetic::Dequantised mode_;
  Arithmetic::Denormals denormals_;
  bool codes_;
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
