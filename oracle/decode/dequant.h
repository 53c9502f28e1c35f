#ifndef MLAFUZZ_ORACLE_DECODE_DEQUANT_H_
#define MLAFUZZ_ORACLE_DECODE_DEQUANT_H_

#include <array>
#include <cstdint>

#include "corpus/contract.pb.h"
#include "oracle/decode/interval.h"

namespace mlafuzz::oracle {

inline constexpr int kLatent = 512;
inline constexpr int kRope = 64;
inline constexpr int kTiles = 4;
inline constexpr int kTileColumns = 128;

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

// One side's reading of the latent part of a row.
class Dequantiser {
 public:
  // `codes`: values are the codes alone (the scale goes elsewhere).
  Dequantiser(const ReaderSide& side, const Arithmetic& arithmetic, bool codes);

  // values [512]; radius [512], written only if has_radius. `row`: a stored
  // row's bytes.
  RowFacts Row(const std::uint8_t* row, double* values, double* radius) const;

  // The row's four scales as this side reads them.
  std::array<ReadScale, kTiles> Scales(const std::uint8_t* row) const;

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

  ReaderSide::ScaleRule rule_;
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
// `finite` and, if asked for, `granule`.
RowFacts ReadRope(const std::uint8_t* bytes, bool with_granule, double* values);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DEQUANT_H_
