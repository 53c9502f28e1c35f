#ifndef MLAFUZZ_CORPUS_POOL_FILL_H_
#define MLAFUZZ_CORPUS_POOL_FILL_H_

#include <cstddef>
#include <cstdint>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "corpus/value_generator.h"

namespace mlafuzz {

// `size` bytes from words 0, 1, ... of the generator, little-endian.
void FillBytes(const ValueGenerator& words, std::uint8_t* out,
               std::size_t size);

// Writes every byte of the pool: rows as `fill` says, all others from `poison`.
void FillPool(const Fill& fill, const ValueGenerator& poison, PoolImage& pool);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_POOL_FILL_H_
