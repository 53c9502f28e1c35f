#ifndef MLAFUZZ_KERNELS_DECODE_OPTIONS_H_
#define MLAFUZZ_KERNELS_DECODE_OPTIONS_H_

#include "kernels/decode/params.h"

namespace mlafuzz {

// What is multiplied with what; see arithmetic.cuh.
enum class DecodeArithmetic {
  kBf16,         // K and V dequantised to bf16, weights in bf16
  kE4m3,         // q and weights in E4M3
  kE4m3TwoPass,  // the same, and the weights' residual
};

// The rules on which decodes differ; the defaults are builtin's.
struct DecodeOptions {
  DecodeArithmetic arithmetic = DecodeArithmetic::kBf16;
  kernels::ScaleRule qk_scale = kernels::ScaleRule::kRaw;
  kernels::ScaleRule v_scale = kernels::ScaleRule::kRaw;
  kernels::Ue8m0Ends qk_ends = {};  // of layouts with UE8M0 scales
  kernels::Ue8m0Ends v_ends = {};
  bool bf16_partials = false;
  bool lse_base_e = false;
  bool sink_in_lse = true;
  bool empty_plus_inf = false;  // LSE of a row without keys; else -Inf
  // The host refuses a call without lengths (FlashInfer's
  // sparse_mla_top_k_lens).
  bool lengths_demanded = false;
};

// The rules that kernels take as parameters; the arithmetic is not one.
inline void SetRules(const DecodeOptions& options,
                     kernels::DecodeParams& params) {
  params.qk_scale = options.qk_scale;
  params.v_scale = options.v_scale;
  params.qk_ends = options.qk_ends;
  params.v_ends = options.v_ends;
  params.bf16_partials = options.bf16_partials;
  params.lse_base_e = options.lse_base_e;
  params.sink_in_lse = options.sink_in_lse;
  params.empty_plus_inf = options.empty_plus_inf;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_OPTIONS_H_
