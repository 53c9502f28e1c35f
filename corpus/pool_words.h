#ifndef MLAFUZZ_CORPUS_POOL_WORDS_H_
#define MLAFUZZ_CORPUS_POOL_WORDS_H_

#include <cstdint>
#include <cstring>

#include "corpus/device_code.h"
#include "corpus/token_bytes.h"
#include "corpus/value_generator.h"

namespace mlafuzz {

// Where what a case says of its pool goes, eight bytes at a time: for the host
// and for a GPU, from the same source. First all words of poison, where there
// is any or a fill leaves bytes out; then all words of all tokens.

// Pools of one configuration: PoolImage's numbers, which say what they are.
struct PoolShape {
  TokenShape token;
  std::int64_t page_size;
  std::int64_t page_stride;
  std::int64_t row_stride;
  std::int64_t row_part;
  std::int64_t row_bytes;

  // Of a slot's token, byte 0 and the first of those behind all rows of the
  // page; from page 0.
  struct Place {
    std::int64_t row;
    std::int64_t behind;
  };
  MLAFUZZ_CORPUS_CODE Place PlaceOf(std::int64_t slot) const {
    const std::int64_t page = slot / page_size * page_stride;
    const std::int64_t number = slot % page_size;
    return {page + number * row_stride,
            page + page_size * row_part + number * (row_bytes - row_part)};
  }
  MLAFUZZ_CORPUS_CODE std::int32_t words_a_token() const {
    return static_cast<std::int32_t>((row_bytes + 7) / 8);
  }
};

// One of them.
struct PoolFilling {
  std::int64_t slots;
  std::int64_t bytes;   // all, those before page 0 included
  std::int64_t offset;  // of page 0
  // Bytes that are in no row: they hold poison.
  bool gaps;
  // Those before page 0 are somebody else's.
  bool from_page_0;
  FillRule fill;
  ValueGenerator words;   // a stream a slot
  ValueGenerator poison;  // of all bytes, the pool's first word 0

  // Rows do not cover what they are laid over.
  MLAFUZZ_CORPUS_CODE bool IsLaidUnder() const {
    return gaps || fill.kind == TokenFill::kLatticeRows;
  }
};

namespace pool_words {

// Bytes of `word` whose bit in `mask` is set.
MLAFUZZ_CORPUS_CODE inline void Store(std::uint8_t* to, std::uint64_t word,
                                      std::uint32_t mask) {
#ifdef __CUDA_ARCH__
  if (mask == 0xff && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = word;
    return;
  }
#else
  if (mask == 0xff) {
    std::memcpy(to, &word, 8);
    return;
  }
#endif
  for (int i = 0; i < 8; ++i) {
    if ((mask >> i & 1) != 0)
      to[i] = static_cast<std::uint8_t>(word >> (8 * i));
  }
}

}  // namespace pool_words

// Words of a pool with those that it begins to have.
MLAFUZZ_CORPUS_CODE inline std::int64_t WordsUnder(const PoolFilling& pool) {
  return (pool.bytes + 7) / 8;
}

// Word `i` of what lies under the rows; byte 0 of the pool is at `bytes`.
MLAFUZZ_CORPUS_CODE inline void LayUnder(const PoolFilling& pool,
                                         std::int64_t i, std::uint8_t* bytes) {
  const std::int64_t begin = 8 * i;
  const std::int64_t first = pool.from_page_0 ? pool.offset : 0;
  std::uint32_t mask = 0xff;
  if (begin < first) {
    if (begin + 8 <= first) return;
    mask &= 0xffu << (first - begin);
  }
  if (begin + 8 > pool.bytes) mask &= (1u << (pool.bytes - begin)) - 1;
  pool_words::Store(
      bytes + begin,
      pool.gaps ? pool.poison.Word(static_cast<std::uint64_t>(i)) : 0,
      mask & 0xff);
}

// Word `i` of a slot's token, whose generator is `words`; page 0 is at
// `page_0`.
MLAFUZZ_CORPUS_CODE inline void LayToken(const PoolShape& shape,
                                         const FillRule& fill,
                                         const ValueGenerator& words,
                                         const PoolShape::Place& place,
                                         std::int32_t i, std::uint8_t* page_0) {
  const TokenWord word = TokenWordOf(shape.token, fill, words, i);
  const std::int64_t in_row = shape.row_part - 8 * i;
  if (in_row >= 8) {
    pool_words::Store(page_0 + place.row + 8 * i, word.bytes, word.mask);
    return;
  }
  if (in_row > 0) {
    const auto own = static_cast<std::uint32_t>((1 << in_row) - 1);
    pool_words::Store(page_0 + place.row + 8 * i, word.bytes, word.mask & own);
    pool_words::Store(page_0 + place.behind - in_row, word.bytes,
                      word.mask & ~own);
    return;
  }
  pool_words::Store(page_0 + place.behind - in_row, word.bytes, word.mask);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_POOL_WORDS_H_
