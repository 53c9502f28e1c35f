#include "oracle/decode/emulated_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlafuzz::emulated {

EmulatedArithmetic::EmulatedArithmetic(const Arithmetic& arithmetic,
                                       std::mt19937_64& random)
    : a_(arithmetic), random_(random) {
  flush_ = a_.denormals() == Arithmetic::DENORMALS_FLUSHED ||
           (a_.denormals() == Arithmetic::DENORMALS_UNKNOWN && Chance(2));
  dequantised_ = a_.dequantised() == Arithmetic::DEQUANTISED_UNKNOWN
                     ? static_cast<Arithmetic::Dequantised>(1 + Draw(3))
                     : a_.dequantised();
  query_ = a_.query() == Arithmetic::QUERY_UNKNOWN
               ? static_cast<Arithmetic::Query>(1 + Draw(2))
               : a_.query();
  weights_ = a_.weights() == Arithmetic::WEIGHTS_UNKNOWN
                 ? static_cast<Arithmetic::Weights>(1 + Draw(4))
                 : a_.weights();
  partials_ = a_.partials() == Arithmetic::PARTIALS_UNKNOWN
                  ? static_cast<Arithmetic::Partials>(1 + Draw(2))
                  : a_.partials();
  fp8_ = query_ == Arithmetic::QUERY_E4M3 &&
         dequantised_ == Arithmetic::DEQUANTISED_CODES;
  mma_ = a_.accumulator() == Arithmetic::MMA ||
         (a_.accumulator() == Arithmetic::ACCUMULATOR_UNKNOWN && Chance(2));
  mma_bits_ =
      a_.accumulator() == Arithmetic::MMA && a_.accumulator_bits() > 0
          ? static_cast<int>(a_.accumulator_bits())
          : (fp8_ || ScaledWeights() ? 14 : 24) + static_cast<int>(Draw(3));
  mma_step_ = 4 << Draw(4);
  block_ = a_.block() > 0 ? a_.block() : 1 + Draw(96);
  order_ = static_cast<int>(Draw(6));
  fused_ = Chance(2);
  scaling_ = static_cast<int>(Draw(3));
  sink_form_ = static_cast<int>(Draw(3));
  reciprocal_ = Chance(2);
  exp_sign_ = static_cast<int>(Draw(3));
}

float EmulatedArithmetic::ReadScale(const ReaderSide& side,
                                    const std::uint8_t* row, int tile) {
  if (footer_) {
    if (tile == 7 || side.scale_rule() == ReaderSide::SCALE_ONE) return 1;
    const int byte = row[576 + tile];
    if (byte == 0) return side.ue8m0_zero() == ZERO_IS_ZERO ? 0 : 0x1p-127f;
    if (byte == 255) return side.ue8m0_last() == LAST_IS_INF ? kInf : kNan;
    return std::ldexp(1.0f, byte - 127);
  }
  std::uint32_t bits;
  std::memcpy(&bits, row + 512 + 4 * tile, 4);
  switch (side.scale_rule()) {
    case ReaderSide::SCALE_POW2_FLOOR:
      return FromBits(bits & 0x7f800000);
    case ReaderSide::SCALE_POW2_CEIL:
      return FromBits((bits & 0x7fffff) != 0 ? (bits & 0x7f800000) + 0x800000
                                             : bits & 0x7f800000);
    case ReaderSide::SCALE_BF16:
      return ToBf16(FromBits(bits));
    case ReaderSide::SCALE_ONE:
      return 1;
    default:
      return FromBits(bits);
  }
}

float EmulatedArithmetic::DequantisedValue(Arithmetic::Dequantised mode,
                                           int code, float scale) {
  float x = Flush(E4m3Value(code) * scale);
  if (mode == Arithmetic::DEQUANTISED_BF16) x = Flush(ToBf16(x));
  return x;
}

// Sums terms by the drawn order; each addition correctly rounded. Products
// a[i] * b[i] round first, or with the addition.
float EmulatedArithmetic::Sum(const std::vector<float>& a,
                              const std::vector<float>& b, float start,
                              bool fp8) {
  const std::size_t n = a.size();
  if (mma_) return MmaSum(a, b, start, fp8);
  std::vector<std::size_t> index(n);
  std::iota(index.begin(), index.end(), 0u);
  const auto term = [&](std::size_t i) {
    return static_cast<double>(a[i]) * b[i];
  };
  switch (order_) {
    case 1:
      std::shuffle(index.begin(), index.end(), random_);
      break;
    case 2:  // all of one sign first: the largest partial sums
      std::sort(index.begin(), index.end(), [&](std::size_t x, std::size_t y) {
        return term(x) > term(y);
      });
      break;
    case 3:
      std::reverse(index.begin(), index.end());
      break;
    default:
      break;
  }
  if (order_ >= 4) {  // a tree, or lanes of 32 and a tree
    std::vector<float> sums;
    if (order_ == 4) {
      for (std::size_t i = 0; i < n; ++i) sums.push_back(Flush(a[i] * b[i]));
    } else {
      sums.assign(32, 0);
      for (std::size_t i = 0; i < n; ++i) {
        float& s = sums[i % 32];
        s = fused_ ? Flush(std::fma(a[i], b[i], s))
                   : Flush(s + Flush(a[i] * b[i]));
      }
    }
    while (sums.size() > 1) {
      const std::size_t half = (sums.size() + 1) / 2;
      for (std::size_t i = 0; i + half < sums.size(); ++i) {
        sums[i] = Flush(sums[i] + sums[i + half]);
      }
      sums.resize(half);
    }
    return Flush(start + (sums.empty() ? 0 : sums[0]));
  }
  float s = start;
  for (std::size_t i : index) {
    s = fused_ ? Flush(std::fma(a[i], b[i], s)) : Flush(s + Flush(a[i] * b[i]));
  }
  return s;
}

// Tensor cores: mma_step_ exact products and the accumulator aligned to the
// largest, cut to mma_bits_.
float EmulatedArithmetic::MmaSum(const std::vector<float>& a,
                                 const std::vector<float>& b, float start,
                                 bool fp8) {
  int bits = mma_bits_;
  if (!(a_.accumulator() == Arithmetic::MMA && a_.accumulator_bits() > 0) &&
      !fp8) {
    bits = std::max(bits, 24);
  }
  float sum = start;
  for (std::size_t first = 0; first < a.size(); first += mma_step_) {
    const std::size_t end = std::min(a.size(), first + mma_step_);
    double largest = std::fabs(sum);
    bool special = !std::isfinite(sum);
    for (std::size_t i = first; i < end; ++i) {
      const double t = static_cast<double>(a[i]) * b[i];
      special |= !std::isfinite(t);
      largest = std::max(largest, std::fabs(t));
    }
    double exact = sum;
    if (special) {
      for (std::size_t i = first; i < end; ++i) {
        exact += static_cast<double>(a[i]) * b[i];
      }
      sum = static_cast<float>(exact);
      continue;
    }
    if (largest == 0) continue;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - (bits - 1));
    exact = std::trunc(sum / unit);
    for (std::size_t i = first; i < end; ++i) {
      exact += std::trunc(static_cast<double>(a[i]) * b[i] / unit);
    }
    exact *= unit;
    float next = static_cast<float>(exact);
    if (std::fabs(static_cast<double>(next)) > std::fabs(exact)) {
      next = std::nextafter(next, 0.0f);  // the result is cut, not rounded
    }
    sum = Flush(next);
  }
  return sum;
}

float EmulatedArithmetic::PlainSum(const std::vector<float>& a, float start) {
  std::vector<std::size_t> index(a.size());
  std::iota(index.begin(), index.end(), 0u);
  if (order_ == 1) std::shuffle(index.begin(), index.end(), random_);
  if (order_ == 2) {
    std::sort(index.begin(), index.end(),
              [&](std::size_t x, std::size_t y) { return a[x] > a[y]; });
  }
  if (order_ >= 4) {
    std::vector<float> sums = a;
    while (sums.size() > 1) {
      const std::size_t half = (sums.size() + 1) / 2;
      for (std::size_t i = 0; i + half < sums.size(); ++i) {
        sums[i] += sums[i + half];
      }
      sums.resize(half);
    }
    return start + (sums.empty() ? 0 : sums[0]);
  }
  for (std::size_t i : index) start = start + a[i];
  return start;
}

float EmulatedArithmetic::Exp2(float x) {
  if (x == 0) return 1;
  const double exact = std::exp2(static_cast<double>(x));
  const double eps =
      a_.exp2_relative_error() > 0 ? a_.exp2_relative_error() : 0x1p-22;
  // Just inside the promised error: half an ulp of storing comes on top.
  const double room = std::max(0.0, eps - 0x1p-24);
  double e = 0;
  if (exp_sign_ == 0) {
    e = room * (static_cast<double>(Draw(2001)) / 1000 - 1);
  } else {
    e = exp_sign_ == 1 ? room : -room;
  }
  return Flush(static_cast<float>(exact * (1 + e)));
}

float EmulatedArithmetic::Log2(float x) {
  const double exact = std::log2(static_cast<double>(x));
  return static_cast<float>(exact) + (Chance(2) ? 0x1p-25f : -0x1p-25f) *
                                         static_cast<float>(std::fabs(exact));
}

float EmulatedArithmetic::Divide(float a, float b) {
  return Flush(reciprocal_ ? a * (1.0f / b) : a / b);
}

}  // namespace mlafuzz::emulated
