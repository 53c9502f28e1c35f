#include "properties/relations/poison.h"

namespace mlafuzz {
namespace {

// What a byte belongs to.
enum class Part { kCode, kScale, kRope, kElsewhere };

// fp32 and bf16, little-endian.
constexpr std::uint8_t kNanScale[] = {0x00, 0x00, 0xc0, 0x7f};
constexpr std::uint8_t kInfScale[] = {0x00, 0x00, 0x80, 0x7f};
constexpr std::uint8_t kNanRope[] = {0xc0, 0x7f};
constexpr std::uint8_t kInfRope[] = {0x80, 0x7f};

// A byte of no token.
constexpr std::int64_t kElsewhere = -1;

Part PartOf(const TokenLayout& layout, std::int64_t byte) {
  if (byte < 0) return Part::kElsewhere;
  if (byte < layout.codes) return Part::kCode;
  const std::int64_t scale = byte - layout.scales_at;
  if (scale >= 0 && scale < layout.tiles() * layout.scale_bytes) {
    return Part::kScale;
  }
  return byte >= layout.rope_at && byte < layout.rope_at + 2 * layout.rope
             ? Part::kRope
             : Part::kElsewhere;
}

}  // namespace

Poison DrawPoison(Choices& choices) {
  return choices.Pick({Poison::kMixed, Poison::kMixed, Poison::kAllFf,
                       Poison::kNan, Poison::kInf, Poison::kRandom});
}

const char* PoisonName(Poison poison) {
  switch (poison) {
    case Poison::kMixed:
      return "mixed bytes";
    case Poison::kAllFf:
      return "0xff";
    case Poison::kNan:
      return "NaN";
    case Poison::kInf:
      return "Inf";
    case Poison::kRandom:
      return "random bytes";
  }
  return "?";
}

std::uint8_t Poisoner::Next(const TokenLayout& layout, std::int64_t byte) {
  const std::uint64_t word = words_.Word(next_++);
  const std::uint8_t random = static_cast<std::uint8_t>(word >> 32);
  const Part part = PartOf(layout, byte);
  switch (kind_) {
    case Poison::kMixed:
      return word % 4 == 0 ? 0xff : word % 4 == 1 ? 0x7f : random;
    case Poison::kAllFf:
      return 0xff;
    case Poison::kNan:
      if (part == Part::kCode) return 0x7f;
      if (part == Part::kScale) {
        return layout.ue8m0() ? 0xff : kNanScale[byte % 4];
      }
      if (part == Part::kRope) return kNanRope[byte % 2];
      return 0xff;
    case Poison::kInf:
      if (part == Part::kCode) return 0x7e;
      if (part == Part::kScale) {
        return layout.ue8m0() ? 0xff : kInfScale[byte % 4];
      }
      if (part == Part::kRope) return kInfRope[byte % 2];
      return random;
    case Poison::kRandom:
      return random;
  }
  return random;
}

void Poisoner::Replace(std::vector<std::uint8_t>& bytes, std::int64_t at,
                       std::int64_t count) {
  for (std::int64_t i = at; i < at + count; ++i) {
    bytes[static_cast<std::size_t>(i)] =
        Next(TokenLayoutOf(FP8_DS_MLA), kElsewhere);
  }
}

void Poisoner::ReplaceInPool(PoolImage& pool, std::int64_t at) {
  std::int64_t byte = kElsewhere;
  if (at >= pool.offset && pool.page_stride > 0 && pool.row_stride > 0) {
    const std::int64_t in_page = (at - pool.offset) % pool.page_stride;
    const std::int64_t behind = in_page - pool.page_size * pool.row_part;
    if (pool.split() && behind >= 0) {
      const std::int64_t entry = pool.row_bytes - pool.row_part;
      if (behind < pool.page_size * entry) {
        byte = pool.row_part + behind % entry;
      }
    } else if (in_page % pool.row_stride < pool.row_part) {
      byte = in_page % pool.row_stride;
    }
  }
  pool.bytes[static_cast<std::size_t>(at)] =
      Next(TokenLayoutOf(pool.layout), byte);
}

}  // namespace mlafuzz
