#include "oracle/decode/decode_fit.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "oracle/bf16.h"
#include "oracle/decode/decode.h"

namespace mlafuzz::oracle {
namespace {

// Some value of the row that the declared contract forbids and `other` settles.
bool Settles(const DecodeExpectation& other, const WrongDecode& wrong,
             std::int64_t row) {
  const std::size_t r = static_cast<std::size_t>(row);
  if (!wrong.rows.LseMatches(wrong.declared, row) &&
      !std::isinf(other.lse_bound[r])) {
    return true;
  }
  for (int c = 0; c < kDecodeColumns; ++c) {
    const std::size_t i = r * kDecodeColumns + c;
    if (std::isinf(other.out_bound[i])) continue;
    if (!DecodeOutMatches(wrong.declared, static_cast<std::int64_t>(i),
                          wrong.rows.Out(row, c))) {
      return true;
    }
  }
  return false;
}

}  // namespace

DecodeFit FitOf(const DecodeExpectation& other, const WrongDecode& wrong) {
  bool settled = false;
  for (const std::int64_t row : wrong.wrong) {
    if (!wrong.rows.RowMatches(other, row)) return DecodeFit::kNone;
    settled |= Settles(other, wrong, row);
  }
  if (!settled) return DecodeFit::kOpen;
  for (std::int64_t row = 0; row < wrong.declared.rows(); ++row) {
    if (!wrong.rows.RowMatches(other, row)) return DecodeFit::kMixed;
  }
  return DecodeFit::kWhole;
}

bool WrongIsNan(const WrongDecode& wrong) {
  for (const std::int64_t row : wrong.wrong) {
    if (!wrong.rows.LseMatches(wrong.declared, row) &&
        !std::isnan(wrong.rows.Lse(row))) {
      return false;
    }
    for (int c = 0; c < kDecodeColumns; ++c) {
      const std::uint16_t bits = wrong.rows.Out(row, c);
      if (!IsBf16Nan(bits) &&
          !DecodeOutMatches(wrong.declared, row * kDecodeColumns + c, bits)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace mlafuzz::oracle
