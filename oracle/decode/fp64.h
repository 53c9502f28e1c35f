#ifndef MLAFUZZ_ORACLE_DECODE_FP64_H_
#define MLAFUZZ_ORACLE_DECODE_FP64_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracle/device/device_code.h"

// Functions of fp64 with the same bits on every host and GPU: sums, products
// and quotients in a fixed order, no library. A C library's own differ from one
// processor to the next, and from a GPU's. Relative errors are a few 2^-53
// (fp64_test.cc measures them). Not to be built with contraction.
namespace mlafuzz::oracle {

// As std::max and std::min, by value: device code takes no reference to a
// constant of the host's.
MLAFUZZ_ORACLE_CODE inline double Max(double a, double b) {
  return a < b ? b : a;
}
MLAFUZZ_ORACLE_CODE inline double Min(double a, double b) {
  return b < a ? b : a;
}

// 2^n, n in [-1022, 1023].
MLAFUZZ_ORACLE_CODE inline double PowerOfTwo(int n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// (e^y - 1 - y) / y^2 for |y| <= 0.5: Taylor to y^15, even and odd powers
// apart.
MLAFUZZ_ORACLE_CODE inline double ExpTail(double y) {
  const double z = y * y;
  double even = 1.0 / 87178291200;  // 1 / 14!
  even = even * z + 1.0 / 479001600;
  even = even * z + 1.0 / 3628800;
  even = even * z + 1.0 / 40320;
  even = even * z + 1.0 / 720;
  even = even * z + 1.0 / 24;
  even = even * z + 1.0 / 2;
  double odd = 1.0 / 1307674368000;  // 1 / 15!
  odd = odd * z + 1.0 / 6227020800;
  odd = odd * z + 1.0 / 39916800;
  odd = odd * z + 1.0 / 362880;
  odd = odd * z + 1.0 / 5040;
  odd = odd * z + 1.0 / 120;
  odd = odd * z + 1.0 / 6;
  return even + y * odd;
}

inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr double kLog2E = 1.44269504088896340736;

// 2^x; of whole numbers exact.
MLAFUZZ_ORACLE_CODE inline double Exp2(double x) {
  if (!(x < 1024)) {
    return x >= 1024 ? std::numeric_limits<double>::infinity() : x;
  }
  if (x < -1080) return 0;
  const double whole = std::floor(x + 0.5);
  const double y = (x - whole) * kLn2;
  const double fraction = 1 + (y + y * y * ExpTail(y));
  // In two steps: below the normal range the second rounds.
  const int n = static_cast<int>(whole);
  const int half = n / 2;
  return fraction * PowerOfTwo(half) * PowerOfTwo(n - half);
}

// 2^d - 1.
MLAFUZZ_ORACLE_CODE inline double Exp2Minus1(double d) {
  const double y = d * kLn2;
  if (std::fabs(y) <= 0.5) return y + y * y * ExpTail(y);
  return Exp2(d) - 1;
}

// log2(x); of powers of two exact.
MLAFUZZ_ORACLE_CODE inline double Log2(double x) {
  if (!(x > 0)) {
    return x == 0 ? -std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
  }
  if (!(x <= std::numeric_limits<double>::max())) return x;
  int exponent = -1023;
  if (x < PowerOfTwo(-1022)) {
    x *= PowerOfTwo(54);
    exponent -= 54;
  }
  std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52);
  bits = (bits & 0xfffffffffffffu) | std::uint64_t{1023} << 52;
  double m = std::bit_cast<double>(bits);
  if (m > 1.41421356237309505) {
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 atanh(s), |s| <= 0.1716.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double sum = 1.0 / 21;
  sum = sum * z + 1.0 / 19;
  sum = sum * z + 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  return exponent + 2 * kLog2E * (s + s * z * sum);
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_FP64_H_
