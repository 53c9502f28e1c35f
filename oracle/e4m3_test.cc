#include "oracle/e4m3.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

// The definition again, in double and by search: nothing here is shared with
// the codec.
double Magnitude(int code) {
  const int e = code / 8;
  const int m = code % 8;
  return e == 0 ? m / 8.0 * std::pow(2.0, -6)
                : (1 + m / 8.0) * std::pow(2.0, e - 7);
}

int NearestBySearch(double x) {
  int best = 0;
  for (int code = 1; code <= 0x7e; ++code) {
    const double closer = std::fabs(Magnitude(code) - x);
    const double so_far = std::fabs(Magnitude(best) - x);
    if (closer < so_far || (closer == so_far && code % 2 == 0)) best = code;
  }
  return best;
}

int BelowBySearch(double x) {
  int best = 0;
  for (int code = 1; code <= 0x7e; ++code) {
    if (Magnitude(code) <= x) best = code;
  }
  return best;
}

int Nearest(float x) { return E4m3FromFloat(x, Rounding::kNearestEven); }

TEST(E4m3, ValuesOfAllCodes) {
  const auto& values = E4m3Values(E4m3Reading::kFn);
  for (int code = 0; code < 256; ++code) {
    if (code % 128 == 127) {
      EXPECT_TRUE(std::isnan(values[code]));
      continue;
    }
    EXPECT_EQ(std::fabs(values[code]), Magnitude(code % 128)) << code;
    EXPECT_EQ(std::signbit(values[code]), code >= 128) << code;
  }
  EXPECT_EQ(values[0x01], 0x1p-9f);
  EXPECT_EQ(values[0x08], 0x1p-6f);
  EXPECT_EQ(values[0x38], 1.0f);
  EXPECT_EQ(values[0x7e], 448.0f);
}

TEST(E4m3, WrongReadings) {
  const auto& fn = E4m3Values(E4m3Reading::kFn);
  const auto& fnuz = E4m3Values(E4m3Reading::kFnuz);
  const auto& bare = E4m3Values(E4m3Reading::kNoSubnormals);
  for (int code = 0; code < 256; ++code) {
    if (code == 0x80) {
      EXPECT_TRUE(std::isnan(fnuz[code]));
    } else if (code % 128 == 127) {
      EXPECT_EQ(std::fabs(fnuz[code]), 240.0f);
    } else {
      EXPECT_EQ(fnuz[code], fn[code] / 2) << code;
    }
    if (code % 128 == 127) continue;
    if (code % 128 >= 1 && code % 128 <= 7) {
      EXPECT_EQ(std::fabs(bare[code]), 0x1p-7f * (1 + code % 8 / 8.0f));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(bare[code]),
                std::bit_cast<std::uint32_t>(fn[code]));
    }
  }
}

TEST(E4m3, CodesSurviveARoundTrip) {
  const auto& values = E4m3Values(E4m3Reading::kFn);
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(Nearest(values[code]), code % 128 == 127 ? 0x7f : code);
  }
}

// Between two neighbouring codes rounding changes at the midpoint and nowhere
// else: with monotonicity that is all of fp32.
TEST(E4m3, NearestAtEveryMidpoint) {
  for (int code = 0; code < 0x7e; ++code) {
    const float low = static_cast<float>(Magnitude(code));
    const float high = static_cast<float>(Magnitude(code + 1));
    const float middle = low + (high - low) / 2;  // exact
    const float below = std::nextafter(middle, 0.0f);
    const float above = std::nextafter(middle, 1000.0f);
    const int even = code % 2 == 0 ? code : code + 1;
    for (int sign : {1, -1}) {
      const int bit = sign < 0 ? 0x80 : 0;
      EXPECT_EQ(Nearest(sign * below), bit | code);
      EXPECT_EQ(Nearest(sign * middle), bit | even);
      EXPECT_EQ(Nearest(sign * above), bit | (code + 1));
      EXPECT_EQ(E4m3FromFloat(sign * high, Rounding::kTowardZero),
                bit | (code + 1));
      EXPECT_EQ(E4m3FromFloat(sign * std::nextafter(high, 0.0f),
                              Rounding::kTowardZero),
                bit | code);
    }
  }
}

TEST(E4m3, NearestIsMonotonic) {
  // Every 61st pattern of the positive finite fp32 numbers, and infinity.
  int last = 0;
  for (std::uint32_t bits = 0; bits < 0x7f800000; bits += 61) {
    const int code = Nearest(std::bit_cast<float>(bits));
    ASSERT_GE(code, last) << std::hex << bits;
    last = code;
  }
  EXPECT_EQ(last, 0x7e);
}

TEST(E4m3, AgreesWithASearchOnAllBf16) {
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    const float x = std::bit_cast<float>(high << 16);
    if (std::isnan(x)) {
      ASSERT_EQ(Nearest(x), 0x7f);
      continue;
    }
    const int sign = std::signbit(x) ? 0x80 : 0;
    const double magnitude = std::min<double>(std::fabs(x), 448);
    ASSERT_EQ(Nearest(x), sign | NearestBySearch(magnitude)) << x;
    ASSERT_EQ(E4m3FromFloat(x, Rounding::kTowardZero),
              sign | BelowBySearch(magnitude))
        << x;
  }
}

TEST(E4m3, Specials) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Nearest(inf), 0x7e);
  EXPECT_EQ(Nearest(-inf), 0xfe);
  EXPECT_EQ(E4m3FromFloat(-inf, Rounding::kTowardZero), 0xfe);
  EXPECT_EQ(Nearest(3e38f), 0x7e);
  EXPECT_EQ(Nearest(464.0f), 0x7e);
  EXPECT_EQ(Nearest(0.0f), 0x00);
  EXPECT_EQ(Nearest(-0.0f), 0x80);
  EXPECT_EQ(Nearest(-1e-45f), 0x80);
  EXPECT_EQ(Nearest(0x1p-10f), 0x00);  // a tie, to even
  EXPECT_EQ(Nearest(-0x1p-10f), 0x80);
  for (std::uint32_t nan :
       {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
    EXPECT_EQ(Nearest(std::bit_cast<float>(nan)), 0x7f);
  }
}

}  // namespace
}  // namespace mlafuzz::oracle
