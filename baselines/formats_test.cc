// Against the formats' definitions in double precision (kernels/test_support).
#include "baselines/formats.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz::baselines {
namespace {

TEST(Formats, EveryBf16IsItself) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    EXPECT_TRUE(test::SameValue(FromBf16(word), test::Bf16Value(bits))) << bits;
    if ((bits & 0x7fff) <= 0x7f80) EXPECT_EQ(ToBf16(FromBf16(word)), word);
  }
  EXPECT_EQ(ToBf16(std::numeric_limits<float>::quiet_NaN()), 0x7fc0);
}

TEST(Formats, ToBf16IsNearestEven) {
  test::Bytes bytes(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(bytes.Next() << 16 ^ bytes.Next());
    if (value != value) continue;
    ASSERT_EQ(ToBf16(value), test::NearestBf16(value)) << value;
  }
}

TEST(Formats, EveryE4m3CodeIsItself) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_TRUE(test::SameValue(FromE4m3(byte), test::E4m3Value(code)));
    if ((code & 0x7f) != 0x7f) EXPECT_EQ(ToE4m3(FromE4m3(byte)), code);
  }
}

TEST(Formats, ToE4m3IsNearestEvenAndSaturates) {
  // Every bf16, and the neighbours in fp32 of each.
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0u, 1u, 0x8000u, 0xffffu}) {
      const auto value = std::bit_cast<float>(high << 16 | low);
      if (value != value) continue;
      ASSERT_EQ(ToE4m3(value), test::NearestE4m3(value)) << value;
    }
  }
  EXPECT_EQ(ToE4m3(std::numeric_limits<float>::quiet_NaN()), 0x7f);
  EXPECT_EQ(ToE4m3(-std::numeric_limits<float>::infinity()), 0xfe);
}

TEST(Formats, RoundToFp16IsNearestEven) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const double here = test::Fp16Value(bits);
    const double next = test::Fp16Value(bits + 1);
    const auto middle = static_cast<float>((here + next) / 2);
    EXPECT_EQ(RoundToFp16(static_cast<float>(here)), here);
    EXPECT_EQ(RoundToFp16(middle), bits % 2 == 0 ? here : next) << bits;
    EXPECT_EQ(RoundToFp16(std::nextafter(middle, 0.0f)), here) << bits;
    EXPECT_EQ(RoundToFp16(-std::nextafter(middle, 1e9f)), -next) << bits;
  }
  EXPECT_EQ(RoundToFp16(65519.0f), 65504.0f);
  EXPECT_EQ(RoundToFp16(65520.0f), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace mlafuzz::baselines
