#include "corpus/pool_filling.h"

#include <algorithm>
#include <cstdint>

#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

static_assert(static_cast<int>(TokenFill::kByte) == Fill::BYTE);
static_assert(static_cast<int>(TokenFill::kLatticeRows) == Fill::LATTICE_ROWS);
static_assert(static_cast<int>(ScaleFill::kArbitrary) == Fill::ARBITRARY);
static_assert(static_cast<int>(ScaleFill::kMixed) == Fill::MIXED_SCALES);

TokenShape TokenShapeOf(const PoolImage& pool) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout);
  const auto own = static_cast<std::int32_t>(pool.row_bytes);
  const std::int32_t rope_end =
      layout.split() ? std::min(own, layout.rope_at + 2 * layout.rope) : own;
  return {.codes = layout.codes,
          .tiles = layout.tiles(),
          .scales_at = layout.scales_at,
          .scale_bytes = layout.scale_bytes,
          .rope_at = layout.rope_at,
          .rope_end = layout.rope == 0 ? layout.rope_at : rope_end,
          .bytes = own,
          .rest_is_zero = pool.split()};
}

}  // namespace

PoolShape PoolShapeOf(const PoolImage& pool) {
  return {.token = TokenShapeOf(pool),
          .page_size = pool.page_size,
          .page_stride = pool.page_stride,
          .row_stride = pool.row_stride,
          .row_part = pool.row_part,
          .row_bytes = pool.row_bytes};
}

PoolFilling PoolFillingOf(const Fill& fill, const ValueGenerator& poison,
                          const PoolImage& pool) {
  return {.slots = pool.slots(),
          .bytes = static_cast<std::int64_t>(pool.bytes.size()),
          .offset = pool.offset,
          .gaps = pool.offset > 0 || pool.row_stride != pool.row_part ||
                  pool.page_stride != pool.page_bytes(),
          .from_page_0 = false,
          .fill = {.kind = static_cast<TokenFill>(fill.kind()),
                   .scales = static_cast<ScaleFill>(fill.scales()),
                   .byte = static_cast<std::uint8_t>(fill.byte())},
          .words = ValueGenerator(fill.seed()),
          .poison = poison};
}

ValueGenerator PoisonOfPool(const Case& c) {
  return ValueGenerator(c.poison()).Stream(kPoisonOfPool);
}

}  // namespace mlafuzz
