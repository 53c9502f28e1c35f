#ifndef MLAFUZZ_BASELINES_RANDOM_H_
#define MLAFUZZ_BASELINES_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "corpus/value_generator.h"

namespace mlafuzz::baselines {

// The random numbers of one case: the distributions that the published tests
// draw from, on this project's own generator, so that a seed means the same on
// every machine.
class Random {
 public:
  explicit Random(ValueGenerator generator) : generator_(generator) {}

  // [0, 1), a multiple of 2^-24.
  float Uniform() {
    return static_cast<float>(generator_.Word(next_++) >> 40) * 0x1p-24f;
  }

  // Mean 0, variance 1 (Box and Muller).
  float Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const std::uint64_t word = generator_.Word(next_++);
    // (0, 1], so that the logarithm is finite.
    const float radius_word = static_cast<float>((word >> 40) + 1) * 0x1p-24f;
    const float angle = static_cast<float>(word & 0xffffff) * 0x1p-24f * 2 *
                        std::numbers::pi_v<float>;
    const float radius = std::sqrt(-2 * std::log(radius_word));
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

  // An integer in [0, n).
  std::uint32_t Below(std::uint32_t n) { return generator_.Below(next_++, n); }

  // `count` different numbers of [0, n) in random order; count <= n.
  std::vector<std::int32_t> Sample(std::int32_t n, std::int32_t count) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(n));
    for (std::int32_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = i;
    for (std::int32_t i = 0; i < count; ++i) {
      const auto other =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(i) +
                                    Below(static_cast<std::uint32_t>(n - i)));
      std::swap(all[static_cast<std::size_t>(i)],
                all[static_cast<std::size_t>(other)]);
    }
    all.resize(static_cast<std::size_t>(count));
    return all;
  }

 private:
  ValueGenerator generator_;
  std::uint64_t next_ = 0;
  float spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_RANDOM_H_
