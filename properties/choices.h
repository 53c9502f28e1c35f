#ifndef MLAFUZZ_PROPERTIES_CHOICES_H_
#define MLAFUZZ_PROPERTIES_CHOICES_H_

#include <cstdint>
#include <initializer_list>

#include "corpus/value_generator.h"

namespace mlafuzz {

// A sequence of random decisions drawn from one seed: what generators and
// mutators consume. Any engine can drive them with 64 bits.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : words_(seed) {}

  std::uint64_t Word() { return words_.Word(next_++); }
  // In [0, n); n = 0 gives 0.
  std::uint32_t Below(std::uint32_t n) { return words_.Below(next_++, n); }
  // In [low, high], inclusive.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     Below(static_cast<std::uint32_t>(high - low + 1)));
  }
  // True once in n times.
  bool OneIn(std::uint32_t n) { return Below(n) == 0; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  ValueGenerator words_;
  std::uint64_t next_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_CHOICES_H_
