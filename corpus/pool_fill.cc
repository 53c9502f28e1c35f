#include "corpus/pool_fill.h"

#include <algorithm>
#include <cstring>

#include "corpus/pool_filling.h"

namespace mlafuzz {

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
  std::uint8_t* const bytes = pool.bytes.data();
  const PoolShape shape = PoolShapeOf(pool);
  const PoolFilling filling = PoolFillingOf(fill, poison, pool);
  if (!filling.gaps && filling.fill.kind == TokenFill::kByte) {
    std::memset(bytes, filling.fill.byte, pool.bytes.size());
    return;
  }
  // What rows leave out is 0, as bytes are that nobody has written.
  if (filling.gaps) FillBytes(poison, bytes, pool.bytes.size());
  const bool finite = filling.fill.kind == TokenFill::kFiniteRows;
  std::uint8_t* const page_0 = bytes + pool.offset;
  const std::int32_t count = shape.words_a_token();
  const std::int32_t drawn =
      std::min(DrawnWords(shape.token, filling.fill.kind),
               static_cast<std::int32_t>(shape.row_part / 8));
  for (std::int64_t slot = 0; slot < filling.slots; ++slot) {
    const ValueGenerator words =
        filling.words.Stream(static_cast<std::uint64_t>(slot));
    const PoolShape::Place place = shape.PlaceOf(slot);
    // Most of a row, in loops of its own: 1,024 rows of random bytes take 112
    // us so, and 267 by LayToken.
    if (finite) {
      for (std::int32_t i = 0; i < drawn; ++i) {
        const std::uint64_t word =
            token_bytes::WithoutNan(words.Word(static_cast<std::uint64_t>(i)));
        std::memcpy(page_0 + place.row + 8 * i, &word, 8);
      }
    } else {
      FillBytes(words, page_0 + place.row, 8 * static_cast<std::size_t>(drawn));
    }
    for (std::int32_t i = drawn; i < count; ++i) {
      LayToken(shape, filling.fill, words, place, i, page_0);
    }
  }
}

}  // namespace mlafuzz
