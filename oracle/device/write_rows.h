#ifndef MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_H_
#define MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_H_

#include <bit>
#include <cstdint>

#include "oracle/device/codes.h"
#include "oracle/device/device_code.h"

// What a writer must store, worked out where the tensors are: on the host, or
// on a GPU. The rules are those of oracle/quantise.h and
// oracle/expect_writer.cc, which stay the word: device/write_rows_test.cc holds
// the two together over all rules.
namespace mlafuzz::oracle {

// A WriterContract's rules for a tile, and the layout, as plain numbers.
struct WriteRules {
  bool half;        // fp16 inputs; else bf16
  bool raw_fp16;    // FP16_RAW_BITS
  bool pow2;        // POW2_CEIL
  bool reciprocal;  // TIMES_RECIPROCAL
  bool code_reciprocal;
  bool floor_on_amax;
  bool floor_on_scale;
  bool toward_zero;
  bool through_fp16;
  bool nan_minus_448;
  bool nan_poisons;
  bool inf_saturates;
  bool zero_positive;  // NEGATIVE_ZERO_POSITIVE
  bool ue8m0;          // scales of one byte
  float floor;

  // Bytes of a token, as oracle/layout.h.
  std::int32_t codes_at;
  std::int32_t tile;
  std::int32_t tiles;
  std::int32_t scales_at;
  std::int32_t scale_bytes;
  std::int32_t row_part;
  // Bytes [zero_begin, zero_end) are written 0: what lies behind the scales of
  // a page's footer, or a tail without rope.
  std::int32_t zero_begin;
  std::int32_t zero_end;
  std::int32_t rope_at;
  std::int32_t rope;  // sixteen-bit values that are copied
};

// Tokens' values, token by token: offsets in the memory that holds all.
struct SourceRows {
  std::uint64_t begin;
  std::uint64_t row_bytes;  // from one token's to the next one's
};

// What is the same for all tokens of a call.
struct WriteCall {
  WriteRules rules;
  SourceRows latent;
  SourceRows rope;
};

inline constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

// Where a token's row is stored: offsets in that memory.
struct WriteRow {
  std::uint64_t at;      // of its row in the pool; kNoRow: it leaves none
  std::uint64_t behind;  // of its bytes behind all rows of the page
};

MLAFUZZ_ORACLE_CODE inline std::uint16_t Load16(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

MLAFUZZ_ORACLE_CODE inline float InputOf(const WriteRules& rules,
                                         std::uint16_t bits) {
  return rules.half ? HalfFromBits(bits) : Bf16FromBits(bits);
}

inline constexpr std::uint32_t kScaleNanBits = 0x7fffffff;

MLAFUZZ_ORACLE_CODE inline float AmaxOf(const WriteRules& rules,
                                        const std::uint8_t* values) {
  if (rules.half && rules.raw_fp16) {
    std::uint16_t largest = 0;
    for (int i = 0; i < rules.tile; ++i) {
      const std::uint16_t bits = Load16(values + 2 * i);
      if (bits > largest) largest = bits;
    }
    return static_cast<float>(largest);
  }
  float amax = 0;
  bool nan = false;
  for (int i = 0; i < rules.tile; ++i) {
    const std::uint32_t bits =
        std::bit_cast<std::uint32_t>(InputOf(rules, Load16(values + 2 * i))) &
        0x7fffffff;
    if (IsNanBits(bits)) {
      nan = true;
      continue;
    }
    if (bits == 0x7f800000 && rules.inf_saturates) continue;
    const float magnitude = std::bit_cast<float>(bits);
    if (magnitude > amax) amax = magnitude;
  }
  if (nan && rules.nan_poisons) return std::bit_cast<float>(kScaleNanBits);
  return amax;
}

// Each fp32 operation rounds once: not to be built with contraction.
MLAFUZZ_ORACLE_CODE inline float ScaleOf(const WriteRules& rules, float amax) {
  if (IsNanBits(std::bit_cast<std::uint32_t>(amax))) {
    return std::bit_cast<float>(kScaleNanBits);
  }
  float dividend = amax;
  if (rules.floor_on_amax && dividend < rules.floor) dividend = rules.floor;
  constexpr float kLargestCode = 448.0f;
  float scale;
  if (rules.reciprocal) {
    const float reciprocal = 1.0f / kLargestCode;
    scale = dividend * reciprocal;
  } else {
    scale = dividend / kLargestCode;
  }
  if (rules.floor_on_scale && scale < rules.floor) scale = rules.floor;
  return rules.pow2 ? Pow2CeilOf(scale) : scale;
}

MLAFUZZ_ORACLE_CODE inline std::uint8_t CodeOf(const WriteRules& rules, float x,
                                               float scale) {
  float quotient;
  if (rules.code_reciprocal) {
    const float reciprocal = 1.0f / scale;
    quotient = x * reciprocal;
  } else {
    quotient = x / scale;
  }
  if (rules.through_fp16) quotient = HalfFromBits(HalfBitsOf(quotient));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(quotient);
  const std::uint8_t code = rules.toward_zero
                                ? E4m3FromBits<Rounding::kTowardZero>(bits)
                                : E4m3FromBits<Rounding::kNearestEven>(bits);
  if (rules.nan_minus_448 && code == 0x7f) return 0xfe;
  if (rules.zero_positive && code == 0x80) return 0;
  return code;
}

// The byte of a power of two, as Ue8m0FromPow2().
MLAFUZZ_ORACLE_CODE inline std::uint8_t Ue8m0Of(float scale) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  // Of subnormals, zero among them: below the least.
  return static_cast<std::uint8_t>(bits >> 23 & 0xff);
}

MLAFUZZ_ORACLE_CODE inline std::uint8_t* TokenByte(const WriteRules& rules,
                                                   std::uint8_t* memory,
                                                   const WriteRow& row,
                                                   std::int32_t byte) {
  return byte < rules.row_part ? memory + row.at + byte
                               : memory + row.behind + (byte - rules.row_part);
}

// Codes and scale of one tile of token `token`.
MLAFUZZ_ORACLE_CODE inline void WriteTile(const WriteCall& call,
                                          std::uint8_t* memory,
                                          std::uint64_t token,
                                          const WriteRow& row,
                                          std::int32_t tile) {
  const WriteRules& rules = call.rules;
  const std::uint8_t* const values = memory + call.latent.begin +
                                     token * call.latent.row_bytes +
                                     2 * std::int64_t{rules.tile} * tile;
  const float scale = ScaleOf(rules, AmaxOf(rules, values));
  for (std::int32_t i = 0; i < rules.tile; ++i) {
    *TokenByte(rules, memory, row, rules.codes_at + rules.tile * tile + i) =
        CodeOf(rules, InputOf(rules, Load16(values + 2 * i)), scale);
  }
  const std::int32_t at = rules.scales_at + tile * rules.scale_bytes;
  if (rules.ue8m0) {
    *TokenByte(rules, memory, row, at) = Ue8m0Of(scale);
    return;
  }
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  for (int i = 0; i < 4; ++i) {
    *TokenByte(rules, memory, row, at + i) =
        static_cast<std::uint8_t>(bits >> 8 * i);
  }
}

// Everything else of it: rope, tail, padding.
MLAFUZZ_ORACLE_CODE inline void WriteRest(const WriteCall& call,
                                          std::uint8_t* memory,
                                          std::uint64_t token,
                                          const WriteRow& row) {
  const WriteRules& rules = call.rules;
  const std::uint8_t* const rope =
      memory + call.rope.begin + token * call.rope.row_bytes;
  for (std::int32_t i = rules.zero_begin; i < rules.zero_end; ++i) {
    *TokenByte(rules, memory, row, i) = 0;
  }
  for (std::int32_t i = 0; i < 2 * rules.rope; ++i) {
    *TokenByte(rules, memory, row, rules.rope_at + i) = rope[i];
  }
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_H_
