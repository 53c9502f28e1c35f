#include "oracle/bf16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

TEST(Bf16, PatternsSurviveARoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const std::uint16_t b = static_cast<std::uint16_t>(bits);
    const int want = IsBf16Nan(b) ? 0x7fff : bits;
    ASSERT_EQ(Bf16FromFloat(Bf16Value(b), Rounding::kNearestEven), want);
    ASSERT_EQ(Bf16FromFloat(Bf16Value(b), Rounding::kTowardZero), want);
  }
}

// The midpoint of two neighbours is the lower one with the next bit set.
TEST(Bf16, NearestEvenAtEveryMidpoint) {
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const std::uint32_t middle = bits << 16 | 0x8000;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (std::uint32_t sign : {0u, 0x8000u}) {
      const auto round = [&](std::uint32_t x, Rounding r) {
        return Bf16FromFloat(std::bit_cast<float>(sign << 16 | x), r);
      };
      ASSERT_EQ(round(middle - 1, Rounding::kNearestEven), sign | bits);
      ASSERT_EQ(round(middle, Rounding::kNearestEven), sign | even);
      ASSERT_EQ(round(middle + 1, Rounding::kNearestEven), sign | (bits + 1));
      ASSERT_EQ(round(middle + 1, Rounding::kTowardZero), sign | bits);
    }
  }
}

TEST(Bf16, Specials) {
  const auto nearest = [](float x) {
    return Bf16FromFloat(x, Rounding::kNearestEven);
  };
  EXPECT_EQ(nearest(1.0f), 0x3f80);
  EXPECT_EQ(nearest(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(
      Bf16FromFloat(std::numeric_limits<float>::max(), Rounding::kTowardZero),
      0x7f7f);
  EXPECT_EQ(nearest(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(nearest(std::bit_cast<float>(0xff800001u)), 0x7fff);
  EXPECT_TRUE(IsBf16Nan(0x7fff));
  EXPECT_TRUE(IsBf16Nan(0xff81));
  EXPECT_FALSE(IsBf16Nan(0x7f80));
}

}  // namespace
}  // namespace mlafuzz::oracle
