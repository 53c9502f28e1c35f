#include "corpus/values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "corpus/value_generator.h"

namespace mlafuzz {
namespace {

// Fields of a sixteen-bit float.
struct Format {
  int mantissa_bits;
  int bias;
  std::uint32_t exponents;  // number of exponent codes, Inf/NaN's included
};

constexpr Format kBf16 = {7, 127, 256};
constexpr Format kF16 = {10, 15, 32};

constexpr Format FormatOf(DType dtype) { return dtype == F16 ? kF16 : kBf16; }

std::uint32_t Exponent(const Format& f, int unbiased) {
  const int biased = unbiased + f.bias;
  return static_cast<std::uint32_t>(
      std::clamp<int>(biased, 1, static_cast<int>(f.exponents) - 2));
}

std::uint16_t Pack(const Format& f, std::uint32_t sign, std::uint32_t exponent,
                   std::uint32_t mantissa) {
  return static_cast<std::uint16_t>((sign & 1) << 15 |
                                    exponent << f.mantissa_bits |
                                    (mantissa & ((1u << f.mantissa_bits) - 1)));
}

std::uint32_t Mantissa(const Format& f, std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 20) & ((1u << f.mantissa_bits) - 1);
}

// Value `code * 2^exponent` for an E4M3 magnitude code times two plus a half:
// `twice` counts half steps, so odd values are the midpoints between codes.
// In the binade of 2^k, a step is 2^(k-3), half a step 2^(k-4).
std::uint16_t Midpoint(const Format& f, std::uint32_t sign, int binade,
                       std::uint32_t sixteenth, int nudge) {
  // 1 + sixteenth/16, sixteenth odd: halfway between two 3-bit mantissas.
  const std::uint32_t mantissa = sixteenth << (f.mantissa_bits - 4);
  const std::uint16_t bits = Pack(f, sign, Exponent(f, binade), mantissa);
  return static_cast<std::uint16_t>(bits + nudge);
}

// One element of a tile whose pattern is already chosen. `tile` belongs to the
// whole tile of `size` values, a power of two; `word` to the element; `in_tile`
// is its place. `leader` is the place of the tile's largest value.
std::uint16_t Element(Values::Pattern pattern, const Format& f,
                      std::uint32_t constant, std::uint64_t tile,
                      std::uint64_t word, std::uint32_t in_tile,
                      std::uint32_t size) {
  const std::uint32_t sign = static_cast<std::uint32_t>(word) & 1;
  const std::uint32_t leader =
      static_cast<std::uint32_t>(tile >> 8) & (size - 1);
  const std::uint32_t draw = static_cast<std::uint32_t>(word >> 40) & 0xffff;
  const std::uint32_t inf = f.exponents - 1;
  switch (pattern) {
    case Values::CONSTANT:
      return static_cast<std::uint16_t>(constant);
    case Values::RANDOM_BITS:
      return static_cast<std::uint16_t>(word >> 32);
    case Values::NORMAL_RANGE:
      return Pack(f, sign, Exponent(f, static_cast<int>(draw % 9) - 6),
                  Mantissa(f, word));
    case Values::OCTAVES: {
      // The tile's top binade anywhere in [-20, 19], values in the 8 below.
      const int top = static_cast<int>((tile >> 16) % 40) - 20;
      const int below = in_tile == leader ? 0 : static_cast<int>(draw % 9);
      return Pack(f, sign, Exponent(f, top - below), Mantissa(f, word));
    }
    case Values::OUTLIER: {
      const int low = static_cast<int>((tile >> 16) % 8) - 10;
      const int top = low + 6 + static_cast<int>((tile >> 24) % 8);
      return Pack(f, sign, Exponent(f, in_tile == leader ? top : low),
                  Mantissa(f, word));
    }
    case Values::POW2_SCALE: {
      // 448 * 2^k = 1.75 * 2^(k+8): scale exactly 2^k; one step beside it too.
      const int k = static_cast<int>((tile >> 16) % 16) - 10;
      if (in_tile == leader) {
        const int nudge = static_cast<int>((tile >> 24) % 3) - 1;
        return static_cast<std::uint16_t>(
            Pack(f, sign, Exponent(f, k + 8), 3u << (f.mantissa_bits - 2)) +
            nudge);
      }
      return Pack(f, sign, Exponent(f, k + 7 - static_cast<int>(draw % 18)),
                  Mantissa(f, word));
    }
    case Values::MIDPOINTS: {
      const int k = static_cast<int>((tile >> 16) % 12) - 6;
      if (in_tile == leader) {
        return Pack(f, sign, Exponent(f, k + 8), 3u << (f.mantissa_bits - 2));
      }
      const int nudge = static_cast<int>((word >> 8) % 3) - 1;
      const std::uint32_t odd =
          (static_cast<std::uint32_t>(word >> 16) & 7) * 2 + 1;
      // Binades 2^-6 .. 2^8 of the codes, times the scale 2^k.
      const int binade = k - 6 + static_cast<int>(draw % 14);
      return Midpoint(f, sign, binade, odd, nudge);
    }
    case Values::SUBNORMAL:
      return Pack(f, sign, 0, Mantissa(f, word));
    case Values::TINY_NEGATIVE: {
      const int top = static_cast<int>((tile >> 16) % 8);
      if (in_tile == leader)
        return Pack(f, 0, Exponent(f, top), Mantissa(f, word));
      // Below half the smallest code: 2^-10 * top/448, so at least 2^-19 under.
      return Pack(f, 1, Exponent(f, top - 20), Mantissa(f, word));
    }
    case Values::SPECIALS:
      switch (draw % 16) {
        case 0:
          return Pack(f, sign, inf, 0);  // Inf
        case 1:
          return Pack(f, sign, inf, 1u << (f.mantissa_bits - 1));  // quiet NaN
        case 2:
          return Pack(f, sign, inf, 1);  // signalling NaN
        case 3:
          return Pack(f, 1, 0, 0);  // -0
        case 4:
          return Pack(f, sign, inf - 1, ~0u);  // largest finite
        default:
          return Pack(f, sign, Exponent(f, static_cast<int>(draw / 16 % 9) - 6),
                      Mantissa(f, word));
      }
    case Values::NEGATIVE_ZERO:
      return Pack(f, sign, 0, 0);
    case Values::FLOOR_EDGE: {
      // amax / 448 near 1e-4 (2^-13.3) for half the tiles, near FLT_MIN (or
      // the format's smallest values) for the others.
      const int top = (tile >> 16) & 1
                          ? -118 + static_cast<int>((tile >> 24) % 4)
                          : -6 + static_cast<int>((tile >> 24) % 4);
      const int below = in_tile == leader ? 0 : static_cast<int>(draw % 6);
      return Pack(f, sign, Exponent(f, top - below), Mantissa(f, word));
    }
    case Values::SMALL_INTEGERS: {
      // 1, 2, 3 = 1.5 * 2, 4; zero once in five.
      constexpr std::uint32_t kExponent[] = {0, 1, 1, 2};
      const std::uint32_t which = draw % 5;
      if (which == 4) return Pack(f, sign, 0, 0);
      return Pack(f, sign, Exponent(f, static_cast<int>(kExponent[which])),
                  which == 2 ? 1u << (f.mantissa_bits - 1) : 0);
    }
    case Values::ZERO:
    default:
      return 0;
  }
}

// What MIXED draws from, tile by tile.
constexpr Values::Pattern kMixed[] = {
    Values::ZERO,         Values::RANDOM_BITS,   Values::NORMAL_RANGE,
    Values::OCTAVES,      Values::OUTLIER,       Values::POW2_SCALE,
    Values::MIDPOINTS,    Values::SUBNORMAL,     Values::TINY_NEGATIVE,
    Values::SPECIALS,     Values::NEGATIVE_ZERO, Values::FLOOR_EDGE,
    Values::NORMAL_RANGE, Values::OCTAVES,       Values::MIDPOINTS,
    Values::POW2_SCALE,
};

class TileSource {
 public:
  // `size`: values a tile.
  TileSource(const Values& values, DType dtype, std::uint32_t size)
      : size_(size),
        format_(FormatOf(dtype)),
        constant_(values.bits()),
        pattern_(values.pattern()),
        tiles_(ValueGenerator(values.seed()).Stream(1)),
        elements_(ValueGenerator(values.seed()).Stream(2)) {}

  std::uint16_t At(std::uint64_t at) const {
    const std::uint64_t tile = tiles_.Word(at / size_);
    return Element(PatternOf(tile), format_, constant_, tile,
                   elements_.Word(at), at % size_, size_);
  }

  void Fill(std::uint64_t first, std::uint64_t count,
            std::uint16_t* out) const {
    std::uint64_t at = first;
    const std::uint64_t end = first + count;
    while (at < end) {
      const std::uint64_t tile_end = std::min(end, (at / size_ + 1) * size_);
      const std::uint64_t tile = tiles_.Word(at / size_);
      const Values::Pattern pattern = PatternOf(tile);
      for (; at < tile_end; ++at) {
        *out++ = Element(pattern, format_, constant_, tile, elements_.Word(at),
                         at % size_, size_);
      }
    }
  }

 private:
  Values::Pattern PatternOf(std::uint64_t tile) const {
    return pattern_ == Values::MIXED ? kMixed[tile & 15] : pattern_;
  }

  std::uint32_t size_;
  Format format_;
  std::uint32_t constant_;
  Values::Pattern pattern_;
  ValueGenerator tiles_;
  ValueGenerator elements_;
};

// The first `count` entries of a permutation of [0, n): Fisher-Yates from the
// project's generator. n is bounded by the image's size limit.
std::vector<std::int64_t> Permutation(std::uint64_t seed, std::uint64_t n) {
  std::vector<std::int64_t> p(n);
  std::iota(p.begin(), p.end(), 0);
  const ValueGenerator words(seed);
  for (std::uint64_t i = n; i > 1; --i) {
    std::swap(p[i - 1], p[words.Word(i) % i]);
  }
  return p;
}

std::int32_t PadValue(Indices::Pad pad, std::uint64_t word) {
  const std::uint32_t draw = static_cast<std::uint32_t>(word >> 8) & 0xff;
  switch (pad) {
    case Indices::OTHER_NEGATIVE: {
      constexpr std::int32_t kNegative[] = {-2,  -3,       -64,
                                            -65, -1000000, INT32_MIN};
      return kNegative[draw % 6];
    }
    case Indices::HUGE_POSITIVE:
      return draw % 2 == 0 ? INT32_MAX : INT32_MAX - static_cast<int>(draw);
    case Indices::MIXED_PAD:
      return PadValue(static_cast<Indices::Pad>(word % 3), word >> 2);
    case Indices::MINUS_ONE:
    default:
      return -1;
  }
}

}  // namespace

std::uint16_t GeneratedValue(const Values& values, DType dtype,
                             std::uint64_t at) {
  return TileSource(values, dtype, kTileValues).At(at);
}

std::vector<std::uint16_t> ExpandValues(const Values& values, DType dtype,
                                        std::uint64_t count, int tile) {
  std::vector<std::uint16_t> out(count);
  if (values.pattern() != Values::ZERO) {
    TileSource(values, dtype, static_cast<std::uint32_t>(tile))
        .Fill(0, count, out.data());
  }
  for (const SetBits& set : values.set()) {
    if (set.at() < count)
      out[set.at()] = static_cast<std::uint16_t>(set.bits());
  }
  return out;
}

std::vector<std::uint32_t> ExpandFp32Values(const Values& values,
                                            std::uint64_t count, int tile) {
  const std::vector<std::uint16_t> upper =
      ExpandValues(values, BF16, count, tile);
  const ValueGenerator lower(values.low_seed());
  std::vector<std::uint32_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    out[i] = std::uint32_t{upper[i]} << 16;
    const std::uint32_t magnitude = upper[i] & 0x7fff;
    // Neither zero, which has a sign alone, nor Inf or NaN.
    if (values.low_seed() != 0 && magnitude != 0 && magnitude < 0x7f80) {
      out[i] |= static_cast<std::uint32_t>(lower.Word(i)) & 0xffff;
    }
  }
  for (const SetBits& set : values.set()) {
    if (set.at() < count) {
      out[set.at()] = (set.bits() & 0xffff) << 16 | (set.low() & 0xffff);
    }
  }
  return out;
}

std::vector<std::int64_t> ExpandIntegers(const Integers& list,
                                         std::uint64_t count, std::uint64_t n) {
  std::vector<std::int64_t> out;
  out.reserve(count);
  const std::uint64_t literal =
      std::min<std::uint64_t>(count, list.values_size());
  out.assign(list.values().begin(), list.values().begin() + literal);
  if (literal == count) return out;
  if (n == 0) {
    out.resize(count, 0);
    return out;
  }
  if (list.order() == Integers::PERMUTED) {
    const std::vector<std::int64_t> p = Permutation(list.seed(), n);
    for (std::uint64_t i = literal; i < count; ++i) out.push_back(p[i % n]);
  } else {
    for (std::uint64_t i = literal; i < count; ++i) {
      out.push_back(static_cast<std::int64_t>(i % n));
    }
  }
  return out;
}

std::vector<std::int32_t> ExpandIndices(const Indices& indices) {
  const std::uint64_t width = indices.width();
  const std::uint64_t rows = indices.rows();
  std::vector<std::int32_t> out(rows * width);
  const std::uint64_t valid = std::min<std::uint64_t>(indices.valid(), width);
  const std::uint64_t pads = width - valid;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const ValueGenerator words = ValueGenerator(indices.seed()).Stream(row);
    std::int32_t* at = out.data() + row * width;
    std::uint64_t left_valid = valid;
    std::uint64_t left_pads = pads;
    for (std::uint64_t i = 0; i < width; ++i) {
      const std::uint64_t word = words.Word(i);
      bool is_pad = false;
      switch (indices.place()) {
        case Indices::FRONT:
          is_pad = i < pads;
          break;
        case Indices::MIDDLE:
          is_pad = i >= valid / 2 && i < valid / 2 + pads;
          break;
        case Indices::SCATTERED:
          // Selection sampling: exactly `pads` of them.
          is_pad = (word >> 32) % (left_pads + left_valid) < left_pads;
          break;
        case Indices::BACK:
        default:
          is_pad = i >= valid;
      }
      is_pad ? --left_pads : --left_valid;
      at[i] = is_pad ? PadValue(indices.pad(), word)
                     : static_cast<std::int32_t>(
                           words.Stream(1).Below(i, indices.limit()));
    }
  }
  for (const SetIndex& set : indices.set()) {
    if (set.at() < out.size()) out[set.at()] = set.value();
  }
  return out;
}

}  // namespace mlafuzz
