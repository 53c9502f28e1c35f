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
  // With RapidCheck's notion of size, 0 to kNominalSize: Below(n), and all that
  // rests on it, draws from as large a part of [0, n) as gen::inRange(0, n)
  // does at that size. A generator that draws until what it has will do is
  // given more and more, as gen::suchThat does, or small sizes would have no
  // end.
  Choices(std::uint64_t seed, int size) : words_(seed), size_(Clamped(size)) {}

  static constexpr std::uint32_t kNominalSize = 100;

  std::uint64_t Word() { return words_.Word(next_++); }
  // In [0, n); n = 0 gives 0.
  std::uint32_t Below(std::uint32_t n) {
    return words_.Below(next_++, size_ == kNominalSize ? n : Scaled(n));
  }
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
  // No case takes so many draws unless one of its parts was refused again and
  // again.
  static constexpr std::uint64_t kDrawsPerSize = 1000;

  static std::uint32_t Clamped(int size) {
    if (size < 0) return 0;
    const auto s = static_cast<std::uint32_t>(size);
    return s < kNominalSize ? s : kNominalSize;
  }
  std::uint32_t Scaled(std::uint32_t n) const {
    const std::uint64_t size = size_ + next_ / kDrawsPerSize;
    if (n == 0 || size >= kNominalSize) return n;
    const std::uint64_t last = n - 1;
    return static_cast<std::uint32_t>((last * size + kNominalSize / 2) /
                                      kNominalSize) +
           1;
  }

  ValueGenerator words_;
  std::uint32_t size_ = kNominalSize;
  std::uint64_t next_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_CHOICES_H_
