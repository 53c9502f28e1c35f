#include "corpus/pool_fill.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

// Bits of one fp32 tile scale of the given class.
std::uint32_t ScaleBits(Fill::Scales scales, std::uint64_t word) {
  const std::uint32_t mantissa = static_cast<std::uint32_t>(word) & 0x7fffff;
  const std::uint32_t draw = static_cast<std::uint32_t>(word >> 32);
  switch (scales) {
    case Fill::POWERS_OF_TWO:
      return (127 - 14 + draw % 19) << 23;
    case Fill::WIDE:
      return (127 - 24 + draw % 40) << 23 | mantissa;
    case Fill::SPECIAL: {
      // 0, -0, two subnormals, FLT_MIN, 3e38, +-Inf, quiet NaN, signalling NaN,
      // a negative one, 1.0
      constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x00000001,
                                            0x007fffff, 0x00800000, 0x7f61b1e6,
                                            0x7f800000, 0xff800000, 0x7fc00000,
                                            0x7f800001, 0xbf400000, 0x3f800000};
      return kSpecial[draw % 12];
    }
    case Fill::MIXED_SCALES:
      return ScaleBits(static_cast<Fill::Scales>(draw % 4),
                       word * 0x9e3779b97f4a7c15u);
    case Fill::ARBITRARY:
    default:
      return (127 - 14 + draw % 19) << 23 | mantissa;
  }
}

// The byte of one UE8M0 scale of the given class: 2^(byte - 127). What is
// special lies at both ends.
std::uint8_t Ue8m0Byte(Fill::Scales scales, std::uint64_t word) {
  const std::uint32_t draw = static_cast<std::uint32_t>(word >> 32);
  switch (scales) {
    case Fill::SPECIAL: {
      constexpr std::uint8_t kSpecial[] = {0, 255, 1, 254, 0, 255, 2, 253};
      return kSpecial[draw % 8];
    }
    case Fill::WIDE:
      return static_cast<std::uint8_t>(draw % 256);
    case Fill::MIXED_SCALES:
      return Ue8m0Byte(static_cast<Fill::Scales>(draw % 4),
                       word * 0x9e3779b97f4a7c15u);
    default:
      return static_cast<std::uint8_t>(127 - 14 + draw % 19);
  }
}

// Where the parts of a token's bytes end, of which a case may give too few.
struct Parts {
  const TokenLayout& layout;
  std::int64_t bytes;

  std::int64_t codes() const {
    return std::min<std::int64_t>(layout.codes, bytes);
  }
  // With what a row has beyond.
  std::int64_t rope_end() const {
    return layout.split() ? layout.rope_at + 2 * layout.rope : bytes;
  }
};

// Any code, scales of one class, finite rope.
void FillRow(const TokenLayout& layout, Fill::Scales scales,
             const ValueGenerator& words, std::uint8_t* row,
             std::int64_t row_bytes) {
  const Parts parts{layout, row_bytes};
  FillBytes(words, row, static_cast<std::size_t>(row_bytes));
  for (std::int64_t tile = 0; tile < layout.tiles(); ++tile) {
    const std::int64_t at = layout.scales_at + layout.scale_bytes * tile;
    if (at + layout.scale_bytes > row_bytes) return;
    const std::uint64_t word = words.Word(1000 + tile);
    if (layout.ue8m0()) {
      row[at] = Ue8m0Byte(scales, word);
    } else {
      const std::uint32_t bits = ScaleBits(scales, word);
      std::memcpy(row + at, &bits, 4);
    }
  }
  if (layout.rope == 0) return;
  for (std::int64_t at = layout.rope_at; at + 2 <= parts.rope_end(); at += 2) {
    // Exponents around 1, so that the tail looks like rope values.
    row[at + 1] = static_cast<std::uint8_t>((row[at + 1] & 0x80) | 0x3e |
                                            (row[at + 1] & 1));
  }
}

// A row that a decode may attend to: no NaN code; scales of one class, moved so
// that the largest value of a tile (448 times its scale) lies near 1 unless the
// class says otherwise.
void FillFiniteRow(const TokenLayout& layout, Fill::Scales scales,
                   const ValueGenerator& words, std::uint8_t* row,
                   std::int64_t row_bytes) {
  FillRow(layout, scales, words, row, row_bytes);
  const Parts parts{layout, row_bytes};
  for (std::int64_t i = 0; i < parts.codes(); ++i) {
    if ((row[i] & 0x7f) == 0x7f) row[i] ^= 1;
  }
  if (scales != Fill::ARBITRARY && scales != Fill::POWERS_OF_TWO) return;
  for (std::int64_t tile = 0; tile < layout.tiles(); ++tile) {
    const std::int64_t at = layout.scales_at + layout.scale_bytes * tile;
    if (at + layout.scale_bytes > row_bytes) return;
    // Exponent drawn over 19 binades becomes one of 2^-10 .. 2^-7.
    if (layout.ue8m0()) {
      row[at] = static_cast<std::uint8_t>(127 - 10 + row[at] % 4);
      continue;
    }
    std::uint32_t bits;
    std::memcpy(&bits, row + at, 4);
    bits = (bits & 0x7fffff) | (127 - 10 + (bits >> 23) % 4) << 23;
    std::memcpy(row + at, &bits, 4);
  }
}

// Small integers everywhere, so that sums of products are exact in any order.
void FillLatticeRow(const TokenLayout& layout, const ValueGenerator& words,
                    std::uint8_t* row, std::int64_t row_bytes) {
  constexpr std::uint8_t kCode[] = {0x00, 0x38, 0xb8, 0x40,
                                    0xc0};  // 0 1 -1 2 -2
  constexpr std::uint16_t kBf16[] = {0x0000, 0x3f80, 0xbf80, 0x4000, 0xc000};
  const std::uint32_t one = 0x3f800000;
  const Parts parts{layout, row_bytes};
  for (std::int64_t i = 0; i < parts.codes(); ++i) {
    row[i] = kCode[words.Below(i, 5)];
  }
  for (std::int64_t tile = 0; tile < layout.tiles(); ++tile) {
    const std::int64_t at = layout.scales_at + layout.scale_bytes * tile;
    if (at + layout.scale_bytes > row_bytes) break;
    if (layout.ue8m0()) {
      row[at] = 127;
    } else {
      std::memcpy(row + at, &one, 4);
    }
  }
  if (layout.rope == 0) return;
  for (std::int64_t at = layout.rope_at; at + 2 <= parts.rope_end(); at += 2) {
    std::memcpy(row + at, &kBf16[words.Below(at, 5)], 2);
  }
}

void FillToken(const TokenLayout& layout, const Fill& fill,
               const ValueGenerator& words, std::uint8_t* row,
               std::int64_t bytes) {
  switch (fill.kind()) {
    case Fill::RANDOM_BYTES:
      FillBytes(words, row, static_cast<std::size_t>(bytes));
      break;
    case Fill::ROWS:
      FillRow(layout, fill.scales(), words, row, bytes);
      break;
    case Fill::FINITE_ROWS:
      FillFiniteRow(layout, fill.scales(), words, row, bytes);
      break;
    case Fill::LATTICE_ROWS:
      FillLatticeRow(layout, words, row, bytes);
      break;
    case Fill::BYTE:
    default:
      std::memset(row, static_cast<int>(fill.byte()),
                  static_cast<std::size_t>(bytes));
  }
}

}  // namespace

void FillBytes(const ValueGenerator& words, std::uint8_t* out,
               std::size_t size) {
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t word = words.Word(at / 8);
    std::memcpy(out + at, &word, 8);
  }
  if (at < size) {
    const std::uint64_t word = words.Word(at / 8);
    std::memcpy(out + at, &word, size - at);
  }
}

void FillPool(const Fill& fill, const ValueGenerator& poison, PoolImage& pool) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout);
  const bool gaps = pool.offset > 0 || pool.row_stride != pool.row_part ||
                    pool.page_stride != pool.page_bytes();
  if (gaps) FillBytes(poison, pool.bytes.data(), pool.bytes.size());
  if (!gaps && fill.kind() == Fill::BYTE) {
    std::memset(pool.bytes.data(), static_cast<int>(fill.byte()),
                pool.bytes.size());
    return;
  }
  const ValueGenerator words(fill.seed());
  std::vector<std::uint8_t> token(
      static_cast<std::size_t>(pool.split() ? pool.row_bytes : 0));
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    if (!pool.split()) {
      FillToken(layout, fill, words.Stream(slot),
                pool.bytes.data() + pool.RowAt(slot), pool.row_bytes);
      continue;
    }
    FillToken(layout, fill, words.Stream(slot), token.data(), pool.row_bytes);
    ForEachPart(pool, slot, 0, pool.row_bytes,
                [&](std::int64_t at, std::int64_t byte, std::int64_t count) {
                  std::memcpy(pool.bytes.data() + at, token.data() + byte,
                              static_cast<std::size_t>(count));
                });
  }
}

}  // namespace mlafuzz
