#include "corpus/value_generator.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Golden vectors of version 1. A change here changes the meaning of every
// stored case; add a version instead. corpus/value_generator_py_test.sh holds
// the Python form to the same numbers.
struct Golden {
  std::uint64_t seed;
  int stream;              // -1: the generator itself
  std::uint64_t words[5];  // elements 0, 1, 2, 10^6, 2^63
  std::uint32_t below_1000[4];
};

constexpr Golden kGolden[] = {
    // The first words of seed 0 are SplitMix64's published ones.
    {0,
     -1,
     {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
      0xce17d6bab14cd32a, 0x481ec0a212a9f3db},
     {883, 431, 26, 970}},
    {0,
     7,
     {0x771b298ed5912eb8, 0x8f8b4ad72e9f7595, 0x7cb43a5b71390084,
      0x3c887014e3970d39, 0x742c5ff8a3431f14},
     {465, 560, 487, 678}},
    {1,
     0,
     {0x55c55969ed403149, 0xfb85af9c9a7e41f1, 0x56db6c9436996a50,
      0x0629894c8ce7fa02, 0x47fa602235d2189e},
     {335, 982, 339, 471}},
    {0xdeadbeefcafef00d,
     -1,
     {0xf0d74a6880326220, 0x4200df3a4363fd36, 0xec3ce9f67755d199,
      0x8a625b9a7638a066, 0x782b499212462597},
     {940, 257, 922, 231}},
};

TEST(ValueGenerator, GoldenVectors) {
  for (const Golden& golden : kGolden) {
    ValueGenerator words(golden.seed);
    if (golden.stream >= 0) words = words.Stream(golden.stream);
    const std::uint64_t at[] = {0, 1, 2, 1000000, std::uint64_t{1} << 63};
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(words.Word(at[i]), golden.words[i]) << golden.seed << " " << i;
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(words.Below(i, 1000), golden.below_1000[i]);
    }
  }
}

TEST(ValueGenerator, BelowReachesEveryValueAndNoOther) {
  const ValueGenerator words(3);
  int seen[7] = {};
  for (std::uint64_t i = 0; i < 7000; ++i) {
    const std::uint32_t v = words.Below(i, 7);
    ASSERT_LT(v, 7u);
    ++seen[v];
  }
  for (int count : seen) EXPECT_NEAR(count, 1000, 200);  // 6 sigma
  EXPECT_EQ(words.Below(0, 0), 0u);
  EXPECT_EQ(words.Below(0, 1), 0u);
}

}  // namespace
}  // namespace mlafuzz
