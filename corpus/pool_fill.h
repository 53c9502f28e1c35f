#ifndef MLAFUZZ_CORPUS_POOL_FILL_H_
#define MLAFUZZ_CORPUS_POOL_FILL_H_

#include <cstddef>
#include <cstdint>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "corpus/pool_words.h"
#include "corpus/value_generator.h"

namespace mlafuzz {

// Streams of a case's poison: the pool's, the first of them, and one for each
// use that follows.
inline constexpr std::uint64_t kPoisonOfPool = 1;

// `size` bytes from words 0, 1, ... of the generator, little-endian.
void FillBytes(const ValueGenerator& words, std::uint8_t* out,
               std::size_t size);

// How the pool is filled, by numbers alone: PoolImage::bytes need not be there.
PoolShape PoolShapeOf(const PoolImage& pool);
PoolFilling PoolFillingOf(const Fill& fill, const ValueGenerator& poison,
                          const PoolImage& pool);

// What a case's pool has where it has poison.
ValueGenerator PoisonOfPool(const Case& c);

// Writes every byte of the pool: rows as `fill` says, all others from `poison`.
void FillPool(const Fill& fill, const ValueGenerator& poison, PoolImage& pool);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_POOL_FILL_H_
