#include "oracle/layouts/vllm_conventions.h"

#include <bit>
#include <cstdint>

namespace mlafuzz::oracle {

WriterContract VllmConventions(bool pow2) {
  WriterContract w;
  w.set_scale(pow2 ? WriterContract::POW2_CEIL : WriterContract::RAW);
  w.set_scale_division(WriterContract::DIVIDE_BY_448);
  w.set_floor(WriterContract::FLOOR_ON_AMAX);
  w.set_floor_bits(std::bit_cast<std::uint32_t>(1e-4f));
  w.set_code_division(WriterContract::CODE_DIVIDE);
  w.set_code_rounding(WriterContract::NEAREST_EVEN);
  w.set_nan(WriterContract::NAN_CODE_7F);
  w.set_inf(WriterContract::INF_SCALE);
  w.set_negative_zero(WriterContract::NEGATIVE_ZERO_KEPT);
  w.set_fp16_amax(WriterContract::FP16_MAGNITUDE);
  w.set_slots(WriterContract::NEGATIVE_SKIPPED);
  return w;
}

}  // namespace mlafuzz::oracle
