#include "oracle/e4m3.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {
namespace {

constexpr int kFractionBits = 3;
constexpr int kBias = 7;

float ValueOf(int code, E4m3Reading reading) {
  const int field = (code >> kFractionBits) & 15;
  const int fraction = code & 7;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  int bias = kBias;
  if (reading == E4m3Reading::kFnuz) {
    if (code == 0x80) return nan;
    bias = 8;
  } else if (field == 15 && fraction == 7) {
    return nan;
  }
  const bool hidden =
      field != 0 || (reading == E4m3Reading::kNoSubnormals && fraction != 0);
  // With a hidden one the exponent is field - bias, else that of field 1.
  const int significand = fraction + (hidden ? 8 : 0);
  const int exponent = hidden ? field - bias : 1 - bias;
  const float magnitude =
      std::ldexp(static_cast<float>(significand), exponent - kFractionBits);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::array<float, 256> Table(E4m3Reading reading) {
  std::array<float, 256> table;
  for (int code = 0; code < 256; ++code) table[code] = ValueOf(code, reading);
  return table;
}

template <Rounding rounding>
void EncodeAll(absl::Span<const float> x, absl::Span<std::uint8_t> codes) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    codes[i] = E4m3FromBits<rounding>(std::bit_cast<std::uint32_t>(x[i]));
  }
}

}  // namespace

const std::array<float, 256>& E4m3Values(E4m3Reading reading) {
  static const std::array<float, 256> fn = Table(E4m3Reading::kFn);
  static const std::array<float, 256> fnuz = Table(E4m3Reading::kFnuz);
  static const std::array<float, 256> no_subnormals =
      Table(E4m3Reading::kNoSubnormals);
  switch (reading) {
    case E4m3Reading::kFnuz:
      return fnuz;
    case E4m3Reading::kNoSubnormals:
      return no_subnormals;
    case E4m3Reading::kFn:
      break;
  }
  return fn;
}

std::uint8_t E4m3FromFloat(float x, Rounding rounding) {
  std::uint8_t code;
  E4m3FromFloats({&x, 1}, rounding, {&code, 1});
  return code;
}

void E4m3FromFloats(absl::Span<const float> x, Rounding rounding,
                    absl::Span<std::uint8_t> codes) {
  if (rounding == Rounding::kNearestEven) {
    EncodeAll<Rounding::kNearestEven>(x, codes);
  } else {
    EncodeAll<Rounding::kTowardZero>(x, codes);
  }
}

}  // namespace mlafuzz::oracle
