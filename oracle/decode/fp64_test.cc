#include "oracle/decode/fp64.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

constexpr int kDraws = 200000;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Relative error against the C library's functions of 64 significant bits.
double Error(double got, long double exact) {
  return static_cast<double>(fabsl((got - exact) / exact));
}

TEST(Fp64, Exp2IsWithinFourUlp) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> x(-1021, 1023);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double at = i % 2 == 0 ? x(random) : x(random) * 0x1p-12;
    worst = std::max(worst, Error(Exp2(at), exp2l(at)));
  }
  EXPECT_LT(worst, 0x1p-51);
  for (int n = -1074; n < 1024; ++n) EXPECT_EQ(Exp2(n), std::ldexp(1.0, n));
  EXPECT_EQ(Exp2(-kInf), 0);
  EXPECT_EQ(Exp2(-5000), 0);
  EXPECT_EQ(Exp2(1024), kInf);
  EXPECT_EQ(Exp2(1e300), kInf);
  EXPECT_TRUE(std::isnan(Exp2(std::nan(""))));
}

TEST(Fp64, Exp2Minus1KeepsSmallArguments) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-300, 8);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double at = std::exp2(exponent(random));
    const long double exact = expm1l(at * logl(2.0L));
    worst = std::max(worst, Error(Exp2Minus1(at), exact));
  }
  EXPECT_LT(worst, 0x1p-50);
  EXPECT_EQ(Exp2Minus1(0), 0);
  EXPECT_EQ(Exp2Minus1(kInf), kInf);
  EXPECT_TRUE(std::isnan(Exp2Minus1(std::nan(""))));
}

TEST(Fp64, Log2IsWithinFourUlp) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-1074, 1023);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double at = i % 2 == 0 ? std::exp2(exponent(random))
                                 : 1 + exponent(random) * 0x1p-20;
    if (at == 1) continue;
    worst = std::max(worst, Error(Log2(at), log2l(at)));
  }
  EXPECT_LT(worst, 0x1p-51);
  for (int n = -1074; n < 1024; ++n) EXPECT_EQ(Log2(std::ldexp(1.0, n)), n);
  EXPECT_EQ(Log2(0), -kInf);
  EXPECT_EQ(Log2(kInf), kInf);
  EXPECT_TRUE(std::isnan(Log2(-1)));
  EXPECT_TRUE(std::isnan(Log2(std::nan(""))));
}

}  // namespace
}  // namespace mlafuzz::oracle
