#include "oracle/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

double ByDefinition(int bits) {
  const int e = bits >> 10 & 31;
  const int m = bits & 0x3ff;
  return e == 0 ? m * std::pow(2.0, -24)
                : (1 + m / 1024.0) * std::pow(2.0, e - 15);
}

TEST(Half, ValuesOfAllPatterns) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfValue(static_cast<std::uint16_t>(bits));
    const int magnitude = bits & 0x7fff;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000);
    if (magnitude > 0x7c00) {
      ASSERT_TRUE(std::isnan(value));
    } else if (magnitude == 0x7c00) {
      ASSERT_TRUE(std::isinf(value));
    } else {
      ASSERT_EQ(std::fabs(value), ByDefinition(magnitude)) << bits;
    }
  }
}

TEST(Half, PatternsSurviveARoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const int want = (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits;
    ASSERT_EQ(HalfFromFloat(HalfValue(static_cast<std::uint16_t>(bits))), want);
  }
}

TEST(Half, NearestEvenAtEveryMidpoint) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const double low = ByDefinition(bits);
    const double high = ByDefinition(bits + 1);
    const float middle = static_cast<float>((low + high) / 2);  // exact
    const int even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(HalfFromFloat(middle), even);
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 1e6f)), bits + 1);
    ASSERT_EQ(HalfFromFloat(-middle), 0x8000 | even);
  }
}

TEST(Half, Specials) {
  EXPECT_EQ(HalfFromFloat(65519.996f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(HalfFromFloat(-3e38f), 0xfc00);
  EXPECT_EQ(HalfFromFloat(1e-45f), 0x0000);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::quiet_NaN()), 0x7fff);
}

}  // namespace
}  // namespace mlafuzz::oracle
