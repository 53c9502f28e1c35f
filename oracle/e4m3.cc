#include "oracle/e4m3.h"

#include <bit>
#include <cstddef>

#include "oracle/device/codes.h"

namespace mlafuzz::oracle {
namespace {

std::array<float, 256> Table(E4m3Reading reading) {
  std::array<float, 256> table;
  for (std::size_t code = 0; code < table.size(); ++code) {
    table[code] = E4m3ToFloat(static_cast<std::uint8_t>(code), reading);
  }
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
