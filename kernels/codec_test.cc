// Every pattern against the formats' definitions in double precision.
#include "kernels/codec.cuh"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz::kernels {
namespace {

using test::Bf16Value;
using test::E4m3Value;
using test::Fp16Value;
using test::NearestBf16;
using test::NearestE4m3;
using test::SameValue;

TEST(Codec, EveryE4m3Code) {
  for (unsigned code = 0; code < 256; ++code) {
    EXPECT_TRUE(SameValue(E4m3ToFloat(code), E4m3Value(code))) << code;
    // Bits above the code do not matter.
    EXPECT_TRUE(SameValue(E4m3ToFloat(code | 0xabcd00), E4m3Value(code)));
  }
  EXPECT_EQ(E4m3ToFloat(0x7e), 448.0f);
  EXPECT_EQ(E4m3ToFloat(0x01), 0x1p-9f);
}

TEST(Codec, EveryFp16Value) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    ASSERT_TRUE(SameValue(Fp16ToFloat(bits), Fp16Value(bits)))
        << std::hex << bits;
  }
}

TEST(Codec, EveryBf16Value) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    ASSERT_TRUE(SameValue(Bf16ToFloat(bits), Bf16Value(bits)))
        << std::hex << bits;
    ASSERT_EQ(FloatToBf16(Bf16ToFloat(bits)),
              std::isnan(Bf16Value(bits)) ? 0x7fffu : bits);
  }
}

TEST(Codec, E4m3OfEveryBf16Value) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = Bf16ToFloat(bits);
    ASSERT_EQ(FloatToE4m3(value), NearestE4m3(value)) << std::hex << bits;
  }
}

// Rounding changes only at codes and midpoints: look at each and its
// neighbours, which with monotony covers all 2^32 patterns.
TEST(Codec, E4m3AtEveryCodeAndMidpoint) {
  for (unsigned code = 0; code < 0x7e; ++code) {
    const float at = static_cast<float>(E4m3Value(code));
    const float next = static_cast<float>(E4m3Value(code + 1));
    const float middle = (at + next) / 2;  // exact
    for (float value : {at, middle}) {
      for (float x :
           {std::nextafter(value, -1e9f), value, std::nextafter(value, 1e9f)}) {
        ASSERT_EQ(FloatToE4m3(x), NearestE4m3(x)) << x;
        ASSERT_EQ(FloatToE4m3(-x), NearestE4m3(-x)) << x;
      }
    }
  }
}

TEST(Codec, E4m3IsMonotonous) {
  unsigned last = 0;
  for (std::uint64_t bits = 0; bits <= 0x7f800000; bits += 257) {
    const unsigned code =
        FloatToE4m3(std::bit_cast<float>(static_cast<unsigned>(bits)));
    ASSERT_GE(code, last) << std::hex << bits;
    last = code;
  }
  EXPECT_EQ(last, 0x7eu);
}

TEST(Codec, E4m3Saturates) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FloatToE4m3(449), 0x7eu);
  EXPECT_EQ(FloatToE4m3(464), 0x7eu);
  EXPECT_EQ(FloatToE4m3(465), 0x7eu);
  EXPECT_EQ(FloatToE4m3(3e38f), 0x7eu);
  EXPECT_EQ(FloatToE4m3(inf), 0x7eu);
  EXPECT_EQ(FloatToE4m3(-inf), 0xfeu);
}

TEST(Codec, E4m3OfEveryNan) {
  for (unsigned payload = 1; payload < 0x800000; payload += 1021) {
    for (unsigned sign : {0u, 0x80000000u}) {
      ASSERT_EQ(FloatToE4m3(std::bit_cast<float>(sign | 0x7f800000u | payload)),
                0x7fu);
      ASSERT_EQ(FloatToBf16(std::bit_cast<float>(sign | 0x7f800000u | payload)),
                0x7fffu);
    }
  }
}

TEST(Codec, Bf16RoundsToNearestEven) {
  // All upper halves, with the lower halves where the result changes.
  for (unsigned high = 0; high < 0x7f80; ++high) {
    for (unsigned low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      const unsigned want = NearestBf16(value);
      ASSERT_EQ(FloatToBf16(value), want) << std::hex << high << " " << low;
      ASSERT_EQ(FloatToBf16(-value), want | 0x8000);
    }
  }
}

}  // namespace
}  // namespace mlafuzz::kernels
