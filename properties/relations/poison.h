#ifndef MLAFUZZ_PROPERTIES_RELATIONS_POISON_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_POISON_H_

#include <cstdint>
#include <vector>

#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "corpus/value_generator.h"
#include "properties/choices.h"

namespace mlafuzz {

// Bytes that would show if anybody read them.
enum class Poison {
  kMixed,   // 0xff, 0x7f and anything, byte by byte
  kAllFf,   // 0xff: NaN as a code, a scale and a rope value
  kNan,     // NaN codes, NaN scales, NaN rope
  kInf,     // infinite scales and rope over the largest code
  kRandom,  // any bits
};
Poison DrawPoison(Choices& choices);
const char* PoisonName(Poison poison);

// Draws all its bytes from one seed.
class Poisoner {
 public:
  Poisoner(Poison kind, std::uint64_t seed) : kind_(kind), words_(seed) {}

  // Bytes [at, at + count) that hold no cache rows: with high probability
  // different from what they were.
  void Replace(std::vector<std::uint8_t>& bytes, std::int64_t at,
               std::int64_t count);
  // One byte of the pool, by its place in a row.
  void ReplaceInPool(PoolImage& pool, std::int64_t at);

 private:
  // `byte`: of a token of the layout; -1: of none.
  std::uint8_t Next(const TokenLayout& layout, std::int64_t byte);

  Poison kind_;
  ValueGenerator words_;
  std::uint64_t next_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_POISON_H_
