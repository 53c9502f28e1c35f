#ifndef MLAFUZZ_CORPUS_POOL_FILLING_H_
#define MLAFUZZ_CORPUS_POOL_FILLING_H_

#include <cstdint>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "corpus/pool_words.h"
#include "corpus/value_generator.h"

namespace mlafuzz {

// How a pool is filled, by numbers alone.

// Streams of a case's poison: the pool's, the first of them, and one for each
// use that follows.
inline constexpr std::uint64_t kPoisonOfPool = 1;

// What a case's pool has where it has poison.
ValueGenerator PoisonOfPool(const Case& c);

// PoolImage::bytes need hold nothing.
PoolShape PoolShapeOf(const PoolImage& pool);
PoolFilling PoolFillingOf(const Fill& fill, const ValueGenerator& poison,
                          const PoolImage& pool);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_POOL_FILLING_H_
