#ifndef MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_H_
#define MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_H_

#include <bit>
#include <cstdint>

#include "oracle/device/codes.h"
#include "oracle/device/device_code.h"

// What a gather must leave in dst, worked out where the tensors are: on the
// host, or on a GPU. The rules are those of oracle/expect_gather.cc, which
// stays the word: properties/fused/device_gather_test.cc
// holds the two together.
namespace mlafuzz::oracle {

// A GatherContract's rules, and the layout, as plain numbers.
struct GatherRules {
  enum class Rows : std::uint8_t {
    kValues,    // codes under their tiles' scales, then a tail: bf16
    kOneScale,  // codes under one scale: bf16
    kBytes,     // as they are
    kCopies,    // codes as they are, and scales to a tensor of their own
  };
  enum class Tail : std::uint8_t { kVerbatim, kZero, kUntouched };

  Rows rows;
  Tail tail;
  E4m3Reading reading;
  ScaleReading scale;
  ProductRounding product;
  bool first_tile;  // SCALE_FIRST_TILE
  bool ue8m0;       // scales of one byte
  bool zero_is_zero;
  bool last_is_inf;
  float one_scale;

  // Bytes of a token, as oracle/layout.h; of kBytes a row of them.
  std::int32_t row_part;
  std::int32_t codes_at;
  std::int32_t codes;  // of a row of dst; of kBytes bytes
  std::int32_t tile;
  std::int32_t scales_at;
  std::int32_t scale_bytes;  // of a tile's
  std::int32_t all_scales;   // of kCopies: bytes of a row's
  std::int32_t tail_at;
  std::int32_t tail_values;  // of 16 bits
};

// What is the same for all rows of a call: where dst's rows, and of kCopies
// those of scales, lie in the memory that holds all.
struct GatherCall {
  GatherRules rules;
  std::uint64_t dst;
  std::uint64_t dst_row_bytes;
  std::uint64_t scales;
  std::uint64_t scales_row_bytes;
};

// Where a row of dst comes from: offsets in that memory. Of kCopies: of codes,
// and of scales.
struct GatherSource {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t at;  // of a token's row in the pool; kNone: dst is untouched
  std::uint64_t behind;  // of its bytes behind all rows of the page
};

MLAFUZZ_ORACLE_CODE inline const std::uint8_t* SourceByte(
    const GatherRules& rules, const std::uint8_t* memory,
    const GatherSource& from, std::int32_t byte) {
  return byte < rules.row_part ? memory + from.at + byte
                               : memory + from.behind + (byte - rules.row_part);
}

MLAFUZZ_ORACLE_CODE inline float TileScaleOf(const GatherRules& rules,
                                             const std::uint8_t* memory,
                                             const GatherSource& from,
                                             std::int32_t tile) {
  const std::int32_t at =
      rules.scales_at + (rules.first_tile ? 0 : tile) * rules.scale_bytes;
  std::uint32_t bits = 0;
  if (rules.ue8m0) {
    bits = std::bit_cast<std::uint32_t>(
        Ue8m0FromByte(*SourceByte(rules, memory, from, at), rules.zero_is_zero,
                      rules.last_is_inf));
  } else {
    for (int i = 0; i < 4; ++i) {
      bits |=
          static_cast<std::uint32_t>(*SourceByte(rules, memory, from, at + i))
          << 8 * i;
    }
  }
  return ScaleAsRead(rules.scale, bits);
}

// What a row of dst, and of scales, consists of: values, or bytes.
MLAFUZZ_ORACLE_CODE inline std::int32_t GatherParts(const GatherRules& rules) {
  switch (rules.rows) {
    case GatherRules::Rows::kValues:
      return rules.codes + rules.tail_values;
    case GatherRules::Rows::kCopies:
      return rules.codes + rules.all_scales;
    default:
      return rules.codes;
  }
}

MLAFUZZ_ORACLE_CODE inline void StoreValue(std::uint16_t value,
                                           std::uint8_t* at) {
  at[0] = static_cast<std::uint8_t>(value);
  at[1] = static_cast<std::uint8_t>(value >> 8);
}

// Part number `part` of row `row`.
MLAFUZZ_ORACLE_CODE inline void GatherPart(const GatherCall& call,
                                           std::uint8_t* memory,
                                           std::uint64_t row,
                                           const GatherSource& from,
                                           std::int32_t part) {
  const GatherRules& rules = call.rules;
  std::uint8_t* const dst = memory + call.dst + row * call.dst_row_bytes;
  switch (rules.rows) {
    case GatherRules::Rows::kBytes:
      dst[part] = *SourceByte(rules, memory, from, part);
      return;
    case GatherRules::Rows::kCopies:
      if (part < rules.codes) {
        dst[part] = memory[from.at + static_cast<std::uint64_t>(part)];
      } else {
        const auto byte = static_cast<std::uint64_t>(part - rules.codes);
        memory[call.scales + row * call.scales_row_bytes + byte] =
            memory[from.behind + byte];
      }
      return;
    case GatherRules::Rows::kOneScale:
      StoreValue(ProductBits(E4m3ToFloat(*SourceByte(rules, memory, from, part),
                                         rules.reading),
                             rules.one_scale, rules.product),
                 dst + 2 * part);
      return;
    case GatherRules::Rows::kValues:
      break;
  }
  if (part < rules.codes) {
    const std::uint8_t code =
        *SourceByte(rules, memory, from, rules.codes_at + part);
    StoreValue(ProductBits(E4m3ToFloat(code, rules.reading),
                           TileScaleOf(rules, memory, from, part / rules.tile),
                           rules.product),
               dst + 2 * part);
    return;
  }
  if (rules.tail == GatherRules::Tail::kUntouched) return;
  const std::int32_t byte = rules.tail_at + 2 * (part - rules.codes);
  for (int i = 0; i < 2; ++i) {
    dst[2 * part + i] = rules.tail == GatherRules::Tail::kZero
                            ? std::uint8_t{0}
                            : *SourceByte(rules, memory, from, byte + i);
  }
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_H_
