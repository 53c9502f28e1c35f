#include "oracle/quantise.h"

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "corpus/contracts.h"
#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

using Tile = std::vector<std::uint16_t>;

constexpr std::uint16_t kBf16One = 0x3f80;
constexpr std::uint16_t kBf16Inf = 0x7f80;
constexpr std::uint16_t kBf16Quiet = 0x7fc0;

struct Result {
  std::uint32_t scale;
  std::vector<std::uint8_t> codes;
};

Result Quantise(const WriterContract& contract, DType input, const Tile& x) {
  const Quantiser q(contract);
  const float scale = q.TileScale(q.TileAmax(input, x));
  Result result{std::bit_cast<std::uint32_t>(scale),
                std::vector<std::uint8_t>(x.size())};
  q.TileCodes(input, x, scale, absl::MakeSpan(result.codes));
  return result;
}

WriterContract W1() { return BuiltinContract().writer(); }
WriterContract W2() {
  WriterContract c = W1();
  c.set_scale(WriterContract::POW2_CEIL);
  c.set_floor_bits(0x38d1b717);
  return c;
}

Tile Constant(std::uint16_t bits) { return Tile(128, bits); }
std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint16_t Bf16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

// ---- rows worked by hand, all measured on vLLM's kernel

TEST(QuantiserTest, ZeroTileHasTheFloor) {
  EXPECT_EQ(Quantise(W1(), BF16, Constant(0)).scale, 0x00800000u);
  EXPECT_EQ(Quantise(W1(), BF16, Constant(0)).codes[5], 0x00);
  EXPECT_EQ(Quantise(W1(), BF16, Constant(0x8000)).scale, 0x00800000u);
  EXPECT_EQ(Quantise(W1(), BF16, Constant(0x8000)).codes[5], 0x80);
  EXPECT_EQ(Quantise(W2(), BF16, Constant(0)).scale, Bits(0x1p-13f));
}

TEST(QuantiserTest, TileOf336) {
  const Result w1 = Quantise(W1(), BF16, Constant(Bf16(336)));
  EXPECT_EQ(w1.scale, 0x3f400000u);
  EXPECT_EQ(w1.codes[127], 0x7e);
  const Result w2 = Quantise(W2(), BF16, Constant(Bf16(336)));
  EXPECT_EQ(w2.scale, Bits(1.0f));
  EXPECT_EQ(w2.codes[0], 0x7a);  // 320, the even one of 320 and 352
}

TEST(QuantiserTest, OneInfinity) {
  Tile x = Constant(kBf16One);
  x[3] = kBf16Inf;
  x[4] = 0xbf80;
  const Result r = Quantise(W1(), BF16, x);
  EXPECT_EQ(r.scale, 0x7f800000u);
  EXPECT_EQ(r.codes[3], 0x7f);
  EXPECT_EQ(r.codes[0], 0x00);
  EXPECT_EQ(r.codes[4], 0x80);
  WriterContract saturates = W1();
  saturates.set_inf(WriterContract::INF_SATURATES);
  x[5] = 0xff80;
  const Result s = Quantise(saturates, BF16, x);
  EXPECT_EQ(s.scale, Bits(1.0f / 448));
  EXPECT_EQ(s.codes[3], 0x7e);
  EXPECT_EQ(s.codes[5], 0xfe);
  EXPECT_EQ(s.codes[0], 0x7e);
}

TEST(QuantiserTest, NanTilesAndOneNan) {
  for (std::uint16_t nan : {0x7fc0, 0x7f81, 0xffc0, 0xff81}) {
    const Result r = Quantise(W1(), BF16, Constant(nan));
    EXPECT_EQ(r.scale, 0x00800000u);
    EXPECT_EQ(r.codes[9], 0x7f);
  }
  Tile x = Constant(kBf16One);
  x[7] = kBf16Quiet;
  const Result one = Quantise(W1(), BF16, x);
  EXPECT_EQ(one.scale, Bits(1.0f / 448));
  EXPECT_EQ(one.codes[7], 0x7f);
  EXPECT_EQ(one.codes[8], 0x7e);

  WriterContract c = W1();
  c.set_nan(WriterContract::NAN_TO_MINUS_448);
  EXPECT_EQ(Quantise(c, BF16, x).codes[7], 0xfe);
  EXPECT_EQ(Quantise(c, BF16, x).scale, one.scale);
  c.set_nan(WriterContract::NAN_POISONS_SCALE);
  EXPECT_EQ(Quantise(c, BF16, x).scale, 0x7fffffffu);
  EXPECT_EQ(Quantise(c, BF16, x).codes[8], 0x7f);
}

TEST(QuantiserTest, Fp16RawBitsAsMeasured) {
  WriterContract raw = W1();
  raw.set_fp16_amax(WriterContract::FP16_RAW_BITS);
  const Result one = Quantise(raw, F16, Constant(0x3c00));
  EXPECT_EQ(one.scale, Bits(15360.0f / 448));  // 34.2857132
  EXPECT_EQ(one.codes[0], 0x0f);
  EXPECT_EQ(Quantise(raw, F16, Constant(0xbc00)).scale, Bits(48128.0f / 448));
  Tile zero = Constant(0);
  zero[1] = 0x8000;
  EXPECT_EQ(Quantise(raw, F16, zero).scale, Bits(32768.0f / 448));
  const Result right = Quantise(W1(), F16, Constant(0x3c00));
  EXPECT_EQ(right.scale, Bits(1.0f / 448));
  EXPECT_EQ(right.codes[0], 0x7e);
  // bf16 inputs are not concerned.
  EXPECT_EQ(Quantise(raw, BF16, Constant(kBf16One)).scale, Bits(1.0f / 448));
}

// ---- rules one by one

TEST(QuantiserTest, FloorsAndDivisions) {
  WriterContract c = W1();
  c.set_floor(WriterContract::FLOOR_NONE);
  EXPECT_EQ(Quantise(c, BF16, Constant(0)).scale, 0u);
  EXPECT_EQ(Quantise(c, BF16, Constant(0)).codes[0], 0x7f);  // 0 / 0
  const std::uint16_t tiny = 0x0001;                         // 2^-133
  EXPECT_EQ(Quantise(c, BF16, Constant(tiny)).scale, Bits(0x1p-133f / 448));

  c = W1();
  c.set_floor_bits(0x38d1b717);
  EXPECT_EQ(Quantise(c, BF16, Constant(tiny)).scale, 0x38d1b717u);
  c.set_floor(WriterContract::FLOOR_ON_AMAX);
  EXPECT_EQ(Quantise(c, BF16, Constant(tiny)).scale, Bits(1e-4f / 448));

  // 71 of 128 mantissas differ by one place between the two divisions.
  WriterContract reciprocal = W1();
  reciprocal.set_scale_division(WriterContract::TIMES_RECIPROCAL);
  int differ = 0;
  for (int m = 0; m < 128; ++m) {
    const Tile x = Constant(static_cast<std::uint16_t>(kBf16One | m));
    const std::uint32_t a = Quantise(W1(), BF16, x).scale;
    const std::uint32_t b = Quantise(reciprocal, BF16, x).scale;
    differ += a != b ? 1 : 0;
    EXPECT_LE(std::max(a, b) - std::min(a, b), 1u);
  }
  EXPECT_EQ(differ, 71);
}

TEST(QuantiserTest, NegativeZero) {
  WriterContract c = W1();
  Tile x = Constant(kBf16One);
  x[0] = 0x8000;
  x[1] = 0xb000;  // rounds to -0
  EXPECT_EQ(Quantise(c, BF16, x).codes[0], 0x80);
  EXPECT_EQ(Quantise(c, BF16, x).codes[1], 0x80);
  c.set_negative_zero(WriterContract::NEGATIVE_ZERO_POSITIVE);
  EXPECT_EQ(Quantise(c, BF16, x).codes[0], 0x00);
  EXPECT_EQ(Quantise(c, BF16, x).codes[1], 0x00);
  EXPECT_EQ(Quantise(c, BF16, x).codes[2], 0x7e);
}

TEST(QuantiserTest, Pow2CeilIsExact) {
  EXPECT_EQ(Pow2Ceil(0.75f), 1.0f);
  EXPECT_EQ(Pow2Ceil(1.0f), 1.0f);
  EXPECT_EQ(Pow2Ceil(std::nextafter(1.0f, 2.0f)), 2.0f);
  EXPECT_EQ(Pow2Ceil(0.0f), 0.0f);
  EXPECT_TRUE(std::isinf(Pow2Ceil(3e38f)));
  EXPECT_TRUE(std::isnan(Pow2Ceil(NAN)));
  // All exponents, subnormal ones too, and both neighbours of each power.
  for (int e = -149; e <= 127; ++e) {
    const float power = std::ldexp(1.0f, e);
    EXPECT_EQ(Pow2Ceil(power), power) << e;
    const float above = std::nextafter(power, INFINITY);
    if (e < 127) EXPECT_EQ(Pow2Ceil(above), std::ldexp(1.0f, e + 1)) << e;
    const float below = std::nextafter(power, 0.0f);
    if (e > -148) EXPECT_EQ(Pow2Ceil(below), power) << e;
  }
}

// ---- every bf16 at several scales, against a search in double

double Magnitude(int code) {
  return code < 8 ? code * std::pow(2.0, -9)
                  : (1 + code % 8 / 8.0) * std::pow(2.0, code / 8 - 7);
}

TEST(QuantiserTest, AllBf16AtSeveralScales) {
  std::array<double, 127> grid;
  for (int code = 0; code < 127; ++code) grid[code] = Magnitude(code);
  const Quantiser q(W1());
  for (float scale : {0x1p-13f, 0.75f, 1.0f, FLT_MIN}) {
    for (int first = 0; first < 0x10000; first += 128) {
      Tile x(128);
      for (int i = 0; i < 128; ++i) {
        x[i] = static_cast<std::uint16_t>(first + i);
      }
      std::vector<std::uint8_t> codes(128);
      q.TileCodes(BF16, x, scale, absl::MakeSpan(codes));
      for (int i = 0; i < 128; ++i) {
        const float value =
            std::bit_cast<float>(static_cast<std::uint32_t>(x[i]) << 16);
        if (std::isnan(value)) {
          ASSERT_EQ(codes[i], 0x7f);
          continue;
        }
        // The quotient is rounded to fp32 before it is rounded to a code.
        const float quotient = value / scale;
        const double y = std::min<double>(std::fabs(quotient), 448);
        int best = 0;
        for (int code = 1; code < 127; ++code) {
          const double closer = std::fabs(grid[code] - y);
          const double so_far = std::fabs(grid[best] - y);
          if (closer < so_far || (closer == so_far && code % 2 == 0)) {
            best = code;
          }
        }
        ASSERT_EQ(codes[i], best | (std::signbit(value) ? 0x80 : 0))
            << x[i] << " at " << scale;
      }
    }
  }
}

TEST(QuantiserTest, ThroughFp16RoundsTwice) {
  WriterContract c = W1();
  c.set_code_rounding(WriterContract::THROUGH_FP16);
  const Quantiser twice(c);
  const Quantiser once(W1());
  // 1.0625 is the midpoint of codes 0x38 and 0x39; a quotient a little above it
  // rounds to it in fp16, then to even.
  const float scale = 0.99999f;
  Tile x = Constant(Bf16(1.0625f));
  std::vector<std::uint8_t> a(128), b(128);
  once.TileCodes(BF16, x, scale, absl::MakeSpan(a));
  twice.TileCodes(BF16, x, scale, absl::MakeSpan(b));
  EXPECT_EQ(a[0], 0x39);
  EXPECT_EQ(b[0], 0x38);
}

}  // namespace
}  // namespace mlafuzz::oracle
