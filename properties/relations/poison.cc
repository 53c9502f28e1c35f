#include "properties/relations/poison.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kScaleAt = 512;
constexpr std::int64_t kTailAt = 528;
constexpr std::int64_t kElsewhere = -1;

// fp32 and bf16, little-endian.
constexpr std::uint8_t kNanScale[] = {0x00, 0x00, 0xc0, 0x7f};
constexpr std::uint8_t kInfScale[] = {0x00, 0x00, 0x80, 0x7f};
constexpr std::uint8_t kNanRope[] = {0xc0, 0x7f};
constexpr std::uint8_t kInfRope[] = {0x80, 0x7f};

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

std::uint8_t Poisoner::Next(std::int64_t row_byte) {
  const std::uint64_t word = words_.Word(next_++);
  const std::uint8_t random = static_cast<std::uint8_t>(word >> 32);
  const bool code = row_byte >= 0 && row_byte < kScaleAt;
  const bool scale = row_byte >= kScaleAt && row_byte < kTailAt;
  const bool tail = row_byte >= kTailAt;
  switch (kind_) {
    case Poison::kMixed:
      return word % 4 == 0 ? 0xff : word % 4 == 1 ? 0x7f : random;
    case Poison::kAllFf:
      return 0xff;
    case Poison::kNan:
      if (code) return 0x7f;
      if (scale) return kNanScale[row_byte % 4];
      if (tail) return kNanRope[row_byte % 2];
      return 0xff;
    case Poison::kInf:
      if (code) return 0x7e;
      if (scale) return kInfScale[row_byte % 4];
      if (tail) return kInfRope[row_byte % 2];
      return random;
    case Poison::kRandom:
      return random;
  }
  return random;
}

void Poisoner::Replace(std::vector<std::uint8_t>& bytes, std::int64_t at,
                       std::int64_t count) {
  for (std::int64_t i = at; i < at + count; ++i) {
    bytes[static_cast<std::size_t>(i)] = Next(kElsewhere);
  }
}

void Poisoner::ReplaceInPool(PoolImage& pool, std::int64_t at) {
  std::int64_t row_byte = kElsewhere;
  if (at >= pool.offset && pool.page_stride > 0 && pool.row_stride > 0) {
    row_byte = (at - pool.offset) % pool.page_stride % pool.row_stride;
    if (row_byte >= pool.row_bytes) row_byte = kElsewhere;
  }
  pool.bytes[static_cast<std::size_t>(at)] = Next(row_byte);
}

}  // namespace mlafuzz
