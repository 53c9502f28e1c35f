#ifndef MLAFUZZ_ORACLE_TOKEN_PLACE_H_
#define MLAFUZZ_ORACLE_TOKEN_PLACE_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "corpus/image.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// Where a token's bytes lie in PoolImage::bytes: those in its row, and those
// behind all rows of its page. In a layout without the latter `behind` is the
// end of the row.
struct TokenPlace {
  std::int64_t row = 0;
  std::int64_t behind = 0;

  std::int64_t ByteAt(const RowLayout& layout, std::int64_t byte) const {
    return byte < layout.row_part ? row + byte
                                  : behind + byte - layout.row_part;
  }
};

// Of row `row` of page `page`, which may be any numbers: addresses wrap at
// 2^64.
inline TokenPlace PlaceOf(const PoolImage& pool, std::int64_t page,
                          std::int64_t row) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const auto number = [](std::int64_t x) {
    return static_cast<std::uint64_t>(x);
  };
  const std::uint64_t begin =
      number(page) * number(pool.page_stride) + number(pool.offset);
  const std::uint64_t at = begin + number(row) * number(pool.row_stride);
  const std::uint64_t behind =
      pool.split()
          ? begin + number(pool.page_size) * number(layout.row_part) +
                number(row) * number(layout.row_bytes - layout.row_part)
          : at + number(layout.row_part);
  return {static_cast<std::int64_t>(at), static_cast<std::int64_t>(behind)};
}

// Of a slot, by C++'s division (toward zero).
inline TokenPlace PlaceOf(const PoolImage& pool, std::int64_t slot) {
  return PlaceOf(pool, slot / pool.page_size, slot % pool.page_size);
}

// Whether all of a token's bytes lie within `size` bytes.
inline bool Fits(const RowLayout& layout, const TokenPlace& place,
                 std::int64_t size) {
  const std::int64_t rest = layout.row_bytes - layout.row_part;
  return place.row >= 0 && place.row <= size - layout.row_part &&
         (rest == 0 || (place.behind >= 0 && place.behind <= size - rest));
}

// A token's bytes in one run.
using TokenBytes = std::array<std::uint8_t, 1024>;

inline void LoadToken(const RowLayout& layout, const TokenPlace& place,
                      const std::uint8_t* pool, std::uint8_t* token) {
  std::memcpy(token, pool + place.row,
              static_cast<std::size_t>(layout.row_part));
  std::memcpy(token + layout.row_part, pool + place.behind,
              static_cast<std::size_t>(layout.row_bytes - layout.row_part));
}

inline void StoreToken(const RowLayout& layout, const TokenPlace& place,
                       const std::uint8_t* token, std::uint8_t* pool) {
  std::memcpy(pool + place.row, token,
              static_cast<std::size_t>(layout.row_part));
  std::memcpy(pool + place.behind, token + layout.row_part,
              static_cast<std::size_t>(layout.row_bytes - layout.row_part));
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_TOKEN_PLACE_H_
