#include "corpus/values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

float FromBf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float f;
  std::memcpy(&f, &wide, 4);
  return f;
}

Values Make(Values::Pattern pattern, std::uint64_t seed) {
  Values v;
  v.set_pattern(pattern);
  v.set_seed(seed);
  return v;
}

// Stored cases mean these bits for ever.
TEST(Values, GoldenBits) {
  std::uint64_t digest = 0;
  for (int p = 0; p < Values::Pattern_ARRAYSIZE; ++p) {
    for (DType dtype : {BF16, F16}) {
      Values v = Make(static_cast<Values::Pattern>(p), 42 + p);
      v.set_bits(0x1234);
      for (std::uint16_t bits : ExpandValues(v, dtype, 700)) {
        digest = (digest ^ bits) * 0x100000001b3u;
      }
    }
  }
  EXPECT_EQ(digest, 12590178202809792532u);
}

TEST(Values, OneByOneIsTheSameAsAll) {
  for (int p = 0; p < Values::Pattern_ARRAYSIZE; ++p) {
    const Values v = Make(static_cast<Values::Pattern>(p), 5);
    const auto all = ExpandValues(v, BF16, 300);
    for (std::uint64_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(GeneratedValue(v, BF16, i), all[i]) << p << " " << i;
    }
  }
}

// The upper halves are those of bf16; zeros, infinities and NaN have no others.
TEST(Values, Fp32HasLowerHalvesOfItsOwn) {
  Values v = Make(Values::SPECIALS, 3);
  for (const std::uint32_t bits : ExpandFp32Values(v, 300)) {
    EXPECT_EQ(bits & 0xffff, 0u);
  }
  v.set_low_seed(7);
  auto* set = v.add_set();
  set->set_at(5);
  set->set_bits(0x3f80);
  set->set_low(0x1234);
  const auto upper = ExpandValues(v, BF16, 300);
  const auto all = ExpandFp32Values(v, 300);
  int low = 0;
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i] >> 16, upper[i]) << i;
    const std::uint32_t magnitude = upper[i] & 0x7fff;
    if (magnitude == 0 || magnitude >= 0x7f80) {
      EXPECT_EQ(all[i] & 0xffff, 0u) << i;
    }
    low += (all[i] & 0xffff) != 0;
    digest = (digest ^ all[i]) * 0x100000001b3u;
  }
  EXPECT_EQ(all[5], 0x3f801234u);
  EXPECT_GT(low, 200);
  EXPECT_EQ(digest, 7332865084464564177u);
}

TEST(Values, SetReplacesAndIgnoresWhatIsOutside) {
  Values v;
  auto* set = v.add_set();
  set->set_at(3);
  set->set_bits(0x3f80);
  v.add_set()->set_at(1000);
  const auto all = ExpandValues(v, BF16, 5);
  EXPECT_EQ(all, (std::vector<std::uint16_t>{0, 0, 0, 0x3f80, 0}));
}

// 448 * 2^k has the mantissa 1.75, bits 0x60 of 7.
TEST(Values, Pow2ScaleHitsTheBoundaryAndBothSides) {
  std::set<int> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const auto tile = ExpandValues(Make(Values::POW2_SCALE, seed), BF16, 128);
    std::uint16_t largest = 0;
    for (std::uint16_t bits : tile) {
      largest = std::max<std::uint16_t>(largest, bits & 0x7fff);
    }
    seen.insert((largest & 0x7f) - 0x60);
  }
  EXPECT_EQ(seen, (std::set<int>{-1, 0, 1}));
}

TEST(Values, OctavesSpreadOverFortyBinades) {
  int low = 1000, high = -1000;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    float largest = 0;
    for (std::uint16_t bits :
         ExpandValues(Make(Values::OCTAVES, seed), BF16, 128)) {
      largest = std::max(largest, std::fabs(FromBf16(bits)));
    }
    low = std::min(low, std::ilogb(largest));
    high = std::max(high, std::ilogb(largest));
  }
  EXPECT_EQ(low, -20);
  EXPECT_EQ(high, 19);
}

TEST(Values, SubnormalsAreAllSubnormal) {
  for (std::uint16_t bits :
       ExpandValues(Make(Values::SUBNORMAL, 9), F16, 1000)) {
    ASSERT_EQ(bits & 0x7c00, 0);
  }
}

TEST(Integers, LiteralThenGenerated) {
  Integers list;
  list.add_values(-7);
  list.set_count(4);
  EXPECT_EQ(ExpandIntegers(list, 4, 3),
            (std::vector<std::int64_t>{-7, 1, 2, 0}));
  list.set_order(Integers::PERMUTED);
  list.set_seed(1);
  std::vector<std::int64_t> p = ExpandIntegers(list, 101, 100);
  p.erase(p.begin());
  std::set<std::int64_t> unique(p.begin(), p.end());
  EXPECT_EQ(unique.size(), 100u);
  EXPECT_EQ(*unique.begin(), 0);
  EXPECT_EQ(*unique.rbegin(), 99);
}

class PlaceTest : public testing::TestWithParam<int> {};

TEST_P(PlaceTest, HoldsExactlyTheValidCount) {
  for (std::uint32_t valid : {0u, 1u, 63u, 127u, 128u}) {
    Indices indices;
    indices.set_rows(3);
    indices.set_width(128);
    indices.set_valid(valid);
    indices.set_limit(1000);
    indices.set_seed(17);
    indices.set_place(static_cast<Indices::Place>(GetParam()));
    const auto all = ExpandIndices(indices);
    ASSERT_EQ(all.size(), 3u * 128);
    for (int row = 0; row < 3; ++row) {
      const auto begin = all.begin() + row * 128;
      EXPECT_EQ(
          std::count_if(begin, begin + 128,
                        [](std::int32_t v) { return v >= 0 && v < 1000; }),
          valid);
      EXPECT_EQ(std::count(begin, begin + 128, -1), 128 - valid);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, PlaceTest,
                         testing::Range(0, Indices::Place_ARRAYSIZE));

}  // namespace
}  // namespace mlafuzz
