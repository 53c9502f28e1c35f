#ifndef MLAFUZZ_CORPUS_TOKEN_BYTES_H_
#define MLAFUZZ_CORPUS_TOKEN_BYTES_H_

#include <cstdint>

#include "corpus/device_code.h"
#include "corpus/value_generator.h"

namespace mlafuzz {

// What a Fill (case.proto) puts into a token's bytes, eight at a time, by plain
// numbers: the same source fills pools on the host and on a GPU. Words are the
// generator's of one token; numbers of bytes are a token's, as in TokenLayout.

// Of a layout, and of how many bytes a case gives a token.
struct TokenShape {
  std::int32_t codes;
  std::int32_t tiles;
  std::int32_t scales_at;
  std::int32_t scale_bytes;  // 4: fp32, 1: UE8M0
  std::int32_t rope_at;
  std::int32_t rope_end;  // with what a row has beyond; rope_at: none
  std::int32_t bytes;     // may be too few for any of these
  bool rest_is_zero;      // bytes of which a fill says nothing

  MLAFUZZ_CORPUS_CODE bool HasScale(std::int32_t tile) const {
    return scales_at + (tile + 1) * scale_bytes <= bytes;
  }
  // Values that are rope's: where all scales have room.
  MLAFUZZ_CORPUS_CODE bool HasRope() const { return HasScale(tiles - 1); }
};

// Fill::Kind and Fill::Scales, by their numbers there.
enum class TokenFill : std::uint8_t {
  kByte,
  kRandomBytes,
  kRows,
  kFiniteRows,
  kLatticeRows
};
enum class ScaleFill : std::uint8_t {
  kArbitrary,
  kPowersOfTwo,
  kWide,
  kSpecial,
  kMixed
};
struct FillRule {
  TokenFill kind;
  ScaleFill scales;
  std::uint8_t byte;
};

// Bytes [8 i, 8 i + 8) of a token, the first lowest. Those whose bit in `mask`
// is not set hold what they held.
struct TokenWord {
  std::uint64_t bytes;
  std::uint32_t mask;
};

namespace token_bytes {

// Of a scale that is one of several classes, which.
MLAFUZZ_CORPUS_CODE inline ScaleFill ClassOf(ScaleFill scales,
                                             std::uint64_t* word) {
  if (scales != ScaleFill::kMixed) return scales;
  const auto drawn = static_cast<ScaleFill>((*word >> 32) % 4);
  *word *= 0x9e3779b97f4a7c15u;
  return drawn;
}

// Bits of one fp32 tile scale of the given class.
MLAFUZZ_CORPUS_CODE inline std::uint32_t ScaleBits(ScaleFill scales,
                                                   std::uint64_t word) {
  scales = ClassOf(scales, &word);
  const std::uint32_t mantissa = static_cast<std::uint32_t>(word) & 0x7fffff;
  const auto draw = static_cast<std::uint32_t>(word >> 32);
  switch (scales) {
    case ScaleFill::kPowersOfTwo:
      return (127 - 14 + draw % 19) << 23;
    case ScaleFill::kWide:
      return (127 - 24 + draw % 40) << 23 | mantissa;
    case ScaleFill::kSpecial: {
      // 0, -0, two subnormals, FLT_MIN, 3e38, +-Inf, quiet NaN, signalling NaN,
      // a negative one, 1.0
      constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x00000001,
                                            0x007fffff, 0x00800000, 0x7f61b1e6,
                                            0x7f800000, 0xff800000, 0x7fc00000,
                                            0x7f800001, 0xbf400000, 0x3f800000};
      return kSpecial[draw % 12];
    }
    default:
      return (127 - 14 + draw % 19) << 23 | mantissa;
  }
}

// The byte of one UE8M0 scale of the given class: 2^(byte - 127). What is
// special lies at both ends.
MLAFUZZ_CORPUS_CODE inline std::uint8_t Ue8m0Byte(ScaleFill scales,
                                                  std::uint64_t word) {
  scales = ClassOf(scales, &word);
  const auto draw = static_cast<std::uint32_t>(word >> 32);
  switch (scales) {
    case ScaleFill::kSpecial: {
      constexpr std::uint8_t kSpecial[] = {0, 255, 1, 254, 0, 255, 2, 253};
      return kSpecial[draw % 8];
    }
    case ScaleFill::kWide:
      return static_cast<std::uint8_t>(draw % 256);
    default:
      return static_cast<std::uint8_t>(127 - 14 + draw % 19);
  }
}

// A scale's bits as its bytes hold them.
MLAFUZZ_CORPUS_CODE inline std::uint32_t Scale(const TokenShape& shape,
                                               const FillRule& fill,
                                               const ValueGenerator& words,
                                               std::int32_t tile) {
  const std::uint64_t word =
      words.Word(1000 + static_cast<std::uint64_t>(tile));
  // Of a row that a decode may attend to, moved so that the largest value of a
  // tile (448 times its scale) lies near 1, unless the class says otherwise:
  // an exponent drawn over 19 binades becomes one of 2^-10 .. 2^-7.
  const bool near_one = fill.kind == TokenFill::kFiniteRows &&
                        (fill.scales == ScaleFill::kArbitrary ||
                         fill.scales == ScaleFill::kPowersOfTwo);
  if (shape.scale_bytes == 1) {
    const std::uint32_t byte = Ue8m0Byte(fill.scales, word);
    return near_one ? 127 - 10 + byte % 4 : byte;
  }
  const std::uint32_t bits = ScaleBits(fill.scales, word);
  if (!near_one) return bits;
  return (bits & 0x7fffff) | (127 - 10 + (bits >> 23) % 4) << 23;
}

// Codes that are NaN become the largest value.
MLAFUZZ_CORPUS_CODE inline std::uint64_t WithoutNan(std::uint64_t codes) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
  // Bit 7 of each byte: its other bits are not all ones.
  const std::uint64_t number = ((codes & kLow) ^ kLow) + kLow;
  return codes ^ ((~number & ~kLow) >> 7);
}

// Of bf16 values, exponents around 1, so that the tail looks like rope values.
MLAFUZZ_CORPUS_CODE inline std::uint64_t AroundOne(std::uint64_t values) {
  return (values & 0x81ff81ff81ff81ffu) | 0x3e003e003e003e00u;
}

// A code of -2, -1, 0, 1, 2.
MLAFUZZ_CORPUS_CODE inline std::uint8_t LatticeCode(const ValueGenerator& words,
                                                    std::int32_t at) {
  constexpr std::uint8_t kCode[] = {0x00, 0x38, 0xb8, 0x40, 0xc0};
  return kCode[words.Below(static_cast<std::uint64_t>(at), 5)];
}

// Codes of all kinds, scales of one class, finite rope.
MLAFUZZ_CORPUS_CODE inline std::uint8_t RowByte(const TokenShape& shape,
                                                const FillRule& fill,
                                                const ValueGenerator& words,
                                                std::int32_t at,
                                                std::uint8_t drawn) {
  if (at < shape.codes) {
    return fill.kind == TokenFill::kFiniteRows
               ? static_cast<std::uint8_t>(WithoutNan(drawn))
               : drawn;
  }
  const std::int32_t scale = at - shape.scales_at;
  if (scale >= 0 && scale < shape.tiles * shape.scale_bytes) {
    const std::int32_t tile = scale / shape.scale_bytes;
    if (!shape.HasScale(tile)) return drawn;
    return static_cast<std::uint8_t>(Scale(shape, fill, words, tile) >>
                                     (8 * (scale % shape.scale_bytes)));
  }
  if (at >= shape.rope_at && at < shape.rope_end &&
      (at - shape.rope_at) % 2 == 1 && shape.HasRope()) {
    return static_cast<std::uint8_t>(AroundOne(drawn << 8) >> 8);
  }
  return drawn;
}

// A bf16 value of -2, -1, 0, 1, 2.
MLAFUZZ_CORPUS_CODE inline std::uint16_t LatticeValue(
    const ValueGenerator& words, std::int32_t at) {
  constexpr std::uint16_t kBf16[] = {0x0000, 0x3f80, 0xbf80, 0x4000, 0xc000};
  return kBf16[words.Below(static_cast<std::uint64_t>(at), 5)];
}

// Small integers everywhere, so that sums of products are exact in any order.
// -1: nothing.
MLAFUZZ_CORPUS_CODE inline std::int32_t LatticeByte(const TokenShape& shape,
                                                    const ValueGenerator& words,
                                                    std::int32_t at) {
  if (at < shape.codes) return LatticeCode(words, at);
  const std::int32_t scale = at - shape.scales_at;
  if (scale >= 0 && scale < shape.tiles * shape.scale_bytes) {
    if (!shape.HasScale(scale / shape.scale_bytes)) return -1;
    if (shape.scale_bytes == 1) return 127;
    constexpr std::uint32_t kOne = 0x3f800000;
    return static_cast<std::uint8_t>(kOne >> (8 * (scale % 4)));
  }
  const std::int32_t odd = (at - shape.rope_at) & 1;
  const std::int32_t pair = at - odd;
  if (at < shape.rope_at || pair + 2 > shape.rope_end) return -1;
  return static_cast<std::uint8_t>(LatticeValue(words, pair) >> (8 * odd));
}

}  // namespace token_bytes

// Words of a token, from the first on, that are drawn as they are, but for the
// NaN codes of finite rows.
MLAFUZZ_CORPUS_CODE inline std::int32_t DrawnWords(const TokenShape& shape,
                                                   TokenFill kind) {
  switch (kind) {
    case TokenFill::kRandomBytes:
      return shape.bytes / 8;
    case TokenFill::kRows:
    case TokenFill::kFiniteRows:
      return (shape.codes < shape.bytes ? shape.codes : shape.bytes) / 8;
    default:
      return 0;
  }
}

// Word `i` of a token, 0 <= 8 i < shape.bytes.
MLAFUZZ_CORPUS_CODE inline TokenWord TokenWordOf(const TokenShape& shape,
                                                 const FillRule& fill,
                                                 const ValueGenerator& words,
                                                 std::int32_t i) {
  const std::int32_t begin = 8 * i;
  const std::int32_t count = shape.bytes - begin < 8 ? shape.bytes - begin : 8;
  const std::uint32_t all = (1u << count) - 1;
  if (fill.kind == TokenFill::kByte) {
    return {fill.byte * 0x0101010101010101u, all};
  }
  TokenWord out = {0, all};
  if (fill.kind == TokenFill::kLatticeRows) {
    if (begin + 8 <= shape.codes && count == 8) {
      for (std::int32_t j = 0; j < 8; ++j) {
        out.bytes |= static_cast<std::uint64_t>(
                         token_bytes::LatticeCode(words, begin + j))
                     << (8 * j);
      }
      return out;
    }
    if (begin >= shape.rope_at && begin + 8 <= shape.rope_end &&
        (begin - shape.rope_at) % 2 == 0) {
      for (std::int32_t j = 0; j < 8; j += 2) {
        out.bytes |= static_cast<std::uint64_t>(
                         token_bytes::LatticeValue(words, begin + j))
                     << (8 * j);
      }
      return out;
    }
    for (std::int32_t j = 0; j < count; ++j) {
      const std::int32_t byte =
          token_bytes::LatticeByte(shape, words, begin + j);
      if (byte < 0) {
        if (!shape.rest_is_zero) out.mask &= ~(1u << j);
      } else {
        out.bytes |= static_cast<std::uint64_t>(byte) << (8 * j);
      }
    }
    return out;
  }
  const std::uint64_t drawn = words.Word(static_cast<std::uint64_t>(i));
  if (fill.kind == TokenFill::kRandomBytes) return {drawn, all};
  if (begin + 8 <= shape.codes) {
    return {fill.kind == TokenFill::kFiniteRows ? token_bytes::WithoutNan(drawn)
                                                : drawn,
            all};
  }
  // Two scales, and four of rope's values: what most rows have but for codes.
  const std::int32_t first = (begin - shape.scales_at) / 4;
  if (shape.scale_bytes == 4 && begin >= shape.scales_at &&
      (begin - shape.scales_at) % 4 == 0 && first + 2 <= shape.tiles &&
      shape.HasScale(first + 1)) {
    return {token_bytes::Scale(shape, fill, words, first) |
                static_cast<std::uint64_t>(
                    token_bytes::Scale(shape, fill, words, first + 1))
                    << 32,
            all};
  }
  if (begin >= shape.rope_at && begin + 8 <= shape.rope_end &&
      (begin - shape.rope_at) % 2 == 0 && shape.HasRope()) {
    return {token_bytes::AroundOne(drawn), all};
  }
  for (std::int32_t j = 0; j < count; ++j) {
    out.bytes |= static_cast<std::uint64_t>(token_bytes::RowByte(
                     shape, fill, words, begin + j,
                     static_cast<std::uint8_t>(drawn >> (8 * j))))
                 << (8 * j);
  }
  return out;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_TOKEN_BYTES_H_
