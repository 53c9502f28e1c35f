#include "oracle/upconvert.h"

#include "oracle/e4m3.h"

namespace mlafuzz::oracle {

E4m3Reading E4m3ReadingOf(const GatherContract& contract) {
  switch (contract.codes()) {
    case GatherContract::E4M3FNUZ:
      return E4m3Reading::kFnuz;
    case GatherContract::E4M3FN_NO_SUBNORMALS:
      return E4m3Reading::kNoSubnormals;
    default:
      return E4m3Reading::kFn;
  }
}

ScaleReading ScaleReadingOf(const GatherContract& contract) {
  switch (contract.scale()) {
    case GatherContract::SCALE_POW2_FLOOR:
      return ScaleReading::kPow2Floor;
    case GatherContract::SCALE_POW2_CEIL:
      return ScaleReading::kPow2Ceil;
    case GatherContract::SCALE_BF16:
      return ScaleReading::kBf16;
    case GatherContract::SCALE_ONE:
      return ScaleReading::kOne;
    default:
      return ScaleReading::kStored;
  }
}

ProductRounding ProductRoundingOf(const GatherContract& contract) {
  switch (contract.product()) {
    case GatherContract::BF16_TRUNCATED:
      return ProductRounding::kTruncated;
    case GatherContract::FLUSH_DENORMALS:
      return ProductRounding::kFlushed;
    default:
      return ProductRounding::kNearest;
  }
}

Upconverter::Upconverter(const GatherContract& contract)
    : values_(E4m3Values(E4m3ReadingOf(contract))),
      scale_(ScaleReadingOf(contract)),
      product_(ProductRoundingOf(contract)) {}

float Upconverter::ReadScale(std::uint32_t stored) const {
  return ScaleAsRead(scale_, stored);
}

std::uint16_t Upconverter::Value(std::uint8_t code, float scale) const {
  return ProductBits(values_[code], scale, product_);
}

}  // namespace mlafuzz::oracle
