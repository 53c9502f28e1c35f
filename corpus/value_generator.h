#ifndef MLAFUZZ_CORPUS_VALUE_GENERATOR_H_
#define MLAFUZZ_CORPUS_VALUE_GENERATOR_H_

#include <cstdint>

namespace mlafuzz {

// The project's own source of pseudo-random integers, version 1: stateless,
// so that element i can be computed anywhere (host, device, Python) without
// elements 0..i-1, and the same on every machine for ever. Never a library's
// distribution: those change between versions.
//
// Algorithm: the SplitMix64 sequence (public domain, Vigna) entered at any
// place. Its increment is the odd integer nearest 2^64 / golden ratio.
//
//   Word(seed, i) = mix(mix(seed) + (i + 1) * 0x9e3779b97f4a7c15)
//
// A change here is a new version with a new name; golden vectors in
// value_generator_test.cc hold it in place.
class ValueGenerator {
 public:
  explicit constexpr ValueGenerator(std::uint64_t seed) : base_(Mix(seed)) {}

  // A generator for another purpose from the same seed.
  constexpr ValueGenerator Stream(std::uint64_t id) const {
    return ValueGenerator(base_ + 0x9e3779b97f4a7c15u * (2 * id + 1));
  }

  // 64 bits, element i.
  constexpr std::uint64_t Word(std::uint64_t i) const {
    return Mix(base_ + (i + 1) * 0x9e3779b97f4a7c15u);
  }

  // An integer in [0, n), element i; n = 0 gives 0. Upper half of a product:
  // the bias is below n / 2^32.
  constexpr std::uint32_t Below(std::uint64_t i, std::uint32_t n) const {
    return static_cast<std::uint32_t>(((Word(i) >> 32) * n) >> 32);
  }

 private:
  static constexpr std::uint64_t Mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t base_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_VALUE_GENERATOR_H_
