#ifndef MLAFUZZ_ORACLE_DECODE_READ_SCALE_H_
#define MLAFUZZ_ORACLE_DECODE_READ_SCALE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracle/decode/interval.h"
#include "oracle/device/codes.h"
#include "oracle/device/device_code.h"

namespace mlafuzz::oracle {

inline constexpr int kLatent = 512;  // values of a row, whatever the layout
inline constexpr int kRope = 64;
inline constexpr int kMaxTiles = 16;
inline constexpr int kMaxTileColumns = 128;

// What a reader makes of one stored tile scale.
struct ReadScale {
  float value;
  bool unknown = false;  // the rule speaks of positive normal scales only
};

// A ReaderSide as plain numbers; scale rules by its proto's.
struct SideRules {
  enum class Scale { kUnspecified, kRaw, kPow2Floor, kPow2Ceil, kBf16, kOne };

  Scale scale;
  // Of a UE8M0 byte of 0 and of 255.
  bool zero_is_zero;
  bool last_is_inf;
};

MLAFUZZ_ORACLE_CODE inline ReadScale ReadFp32Scale(SideRules::Scale rule,
                                                   std::uint32_t stored) {
  const float scale = std::bit_cast<float>(stored);
  switch (rule) {
    case SideRules::Scale::kPow2Floor:
    case SideRules::Scale::kPow2Ceil: {
      // An exponent-only format has neither sign nor zero, and its byte 255 is
      // NaN on one path and infinite on another.
      if (!(scale >= static_cast<float>(kFp32MinNormal)) ||
          !std::isfinite(scale)) {
        return {scale, true};
      }
      const std::uint32_t floor = stored & 0x7f800000;
      const bool up =
          rule == SideRules::Scale::kPow2Ceil && (stored & 0x7fffff) != 0;
      return {std::bit_cast<float>(floor + (up ? 0x00800000u : 0u))};
    }
    case SideRules::Scale::kBf16:
      return {Bf16FromBits(Bf16BitsOf(scale, Rounding::kNearestEven))};
    case SideRules::Scale::kOne:
      return {1.0f};
    default:
      return {scale};
  }
}

// Of a UE8M0 byte, which is a power of two under every rule that reads it.
MLAFUZZ_ORACLE_CODE inline ReadScale ReadByteScale(const SideRules& side,
                                                   std::uint8_t stored) {
  if (side.scale == SideRules::Scale::kOne) return {1.0f};
  return {Ue8m0FromByte(stored, side.zero_is_zero, side.last_is_inf)};
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_READ_SCALE_H_
