#include "oracle/upconvert.h"

#include <bit>
#include <cfloat>
#include <cmath>

#include "oracle/bf16.h"
#include "oracle/e4m3.h"
#include "oracle/quantise.h"

namespace mlafuzz::oracle {
namespace {

E4m3Reading ReadingOf(GatherContract::Codes codes) {
  switch (codes) {
    case GatherContract::E4M3FNUZ:
      return E4m3Reading::kFnuz;
    case GatherContract::E4M3FN_NO_SUBNORMALS:
      return E4m3Reading::kNoSubnormals;
    default:
      return E4m3Reading::kFn;
  }
}

}  // namespace

Upconverter::Upconverter(const GatherContract& contract)
    : values_(E4m3Values(ReadingOf(contract.codes()))),
      scale_(contract.scale()),
      product_(contract.product()) {}

float Upconverter::ReadScale(std::uint32_t stored) const {
  const float scale = std::bit_cast<float>(stored);
  switch (scale_) {
    case GatherContract::SCALE_POW2_FLOOR:
      return std::bit_cast<float>(stored & 0xff800000);
    case GatherContract::SCALE_POW2_CEIL:
      return std::copysign(Pow2Ceil(std::fabs(scale)), scale);
    case GatherContract::SCALE_BF16:
      return Bf16Value(Bf16FromFloat(scale, Rounding::kNearestEven));
    case GatherContract::SCALE_ONE:
      return 1.0f;
    default:
      return scale;
  }
}

std::uint16_t Upconverter::Value(std::uint8_t code, float scale) const {
  float product = values_[code] * scale;
  if (product_ == GatherContract::FLUSH_DENORMALS &&
      std::fabs(product) < FLT_MIN) {
    product = std::copysign(0.0f, product);
  }
  return Bf16FromFloat(product, product_ == GatherContract::BF16_TRUNCATED
                                    ? Rounding::kTowardZero
                                    : Rounding::kNearestEven);
}

}  // namespace mlafuzz::oracle
