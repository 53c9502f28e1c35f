#include "kernels/decode/decode.h"

#include "corpus/contracts.h"
#include "kernels/decode/decode.cuh"
#include "kernels/decode/decode_call.h"

namespace mlafuzz {
namespace {

using kernels::ScaleRule;

struct E4m3Policy : kernels::DecodePolicy {
  using Arithmetic = kernels::E4m3Arithmetic<1>;
};
struct E4m3TwoPassPolicy : kernels::DecodePolicy {
  using Arithmetic = kernels::E4m3Arithmetic<2>;
};

ReaderSide::ScaleRule ToProto(ScaleRule rule) {
  switch (rule) {
    case ScaleRule::kPow2Floor:
      return ReaderSide::SCALE_POW2_FLOOR;
    case ScaleRule::kBf16:
      return ReaderSide::SCALE_BF16;
    case ScaleRule::kRaw:
      break;
  }
  return ReaderSide::SCALE_RAW;
}

void SetArithmetic(const DecodeOptions& options, Arithmetic& a) {
  if (options.arithmetic == DecodeArithmetic::kBf16) {
    a.set_dequantised(Arithmetic::DEQUANTISED_BF16);
    a.set_query(Arithmetic::QUERY_BF16);
    a.set_weights(Arithmetic::WEIGHTS_BF16);
  } else {
    a.set_dequantised(Arithmetic::DEQUANTISED_CODES);
    a.set_query(Arithmetic::QUERY_E4M3);
    a.set_weights(options.arithmetic == DecodeArithmetic::kE4m3
                      ? Arithmetic::WEIGHTS_E4M3
                      : Arithmetic::WEIGHTS_E4M3_TWO_PASS);
  }
  a.set_block(kernels::kBlockKeys);
  a.set_blocks_per_split(kernels::kBlocksPerSplit);
  a.set_partials(options.bf16_partials ? Arithmetic::PARTIALS_BF16
                                       : Arithmetic::PARTIALS_FP32);
  a.set_accumulator(Arithmetic::IEEE_FP32);
  a.set_accumulator_bits(24);
  // exp2f of the CUDA math library: 2 ulp (CUDA C++ Programming Guide); that of
  // the C library is no worse.
  a.set_exp2_relative_error(0x1p-22);
  a.set_denormals(Arithmetic::DENORMALS_KEPT);
  a.set_exact_log2(true);
}

constexpr DecodeOptions kBuiltin = {};
constexpr DecodeOptions kLengthsDemanded = {.lengths_demanded = true};
constexpr DecodeOptions kBf16Partials = {.bf16_partials = true};
constexpr DecodeOptions kE4m3 = {.arithmetic = DecodeArithmetic::kE4m3};
constexpr DecodeOptions kE4m3TwoPass = {.arithmetic =
                                            DecodeArithmetic::kE4m3TwoPass};
constexpr DecodeOptions kE4m3QkPow2 = {.arithmetic = DecodeArithmetic::kE4m3,
                                       .qk_scale = ScaleRule::kPow2Floor};
constexpr DecodeOptions kE4m3TwoPassQkPow2 = {
    .arithmetic = DecodeArithmetic::kE4m3TwoPass,
    .qk_scale = ScaleRule::kPow2Floor};
constexpr DecodeOptions kE4m3TwoPassVPow2 = {
    .arithmetic = DecodeArithmetic::kE4m3TwoPass,
    .v_scale = ScaleRule::kPow2Floor};
constexpr DecodeOptions kE4m3TwoPassBothPow2 = {
    .arithmetic = DecodeArithmetic::kE4m3TwoPass,
    .qk_scale = ScaleRule::kPow2Floor,
    .v_scale = ScaleRule::kPow2Floor};
constexpr DecodeOptions kFlashInferArbitrary = {
    .arithmetic = DecodeArithmetic::kE4m3TwoPass, .bf16_partials = true};
constexpr DecodeOptions kFlashInferPow2 = {
    .arithmetic = DecodeArithmetic::kE4m3,
    .qk_scale = ScaleRule::kPow2Floor,
    .bf16_partials = true};
constexpr DecodeOptions kFlashMla = {.qk_scale = ScaleRule::kBf16,
                                     .v_scale = ScaleRule::kBf16,
                                     .lse_base_e = true,
                                     .sink_in_lse = false,
                                     .empty_plus_inf = true};

template <const DecodeOptions& kOptions>
CompiledDecode Compiled(const char* name, const char* what) {
  return {name, what,
          [](const DecodeArgs& args, const LaunchContext& context) {
            return RunDecode(args, context, kOptions);
          },
          [] { return DecodeContractOf(kOptions); }};
}

}  // namespace

CallResult RunDecode(const DecodeArgs& args, const LaunchContext& context,
                     const DecodeOptions& options, const DecodeShape& shape) {
  switch (options.arithmetic) {
    case DecodeArithmetic::kE4m3:
      return CallDecode<E4m3Policy>(args, context, options, nullptr, shape);
    case DecodeArithmetic::kE4m3TwoPass:
      return CallDecode<E4m3TwoPassPolicy>(args, context, options, nullptr,
                                           shape);
    case DecodeArithmetic::kBf16:
      break;
  }
  return CallDecode<kernels::DecodePolicy>(args, context, options, nullptr,
                                           shape);
}

Contract DecodeContractOf(const DecodeOptions& options, Layout layout) {
  Contract contract = BuiltinContract(layout);
  const auto ends = [](const kernels::Ue8m0Ends& taken, ReaderSide* side) {
    side->set_ue8m0_zero(taken.zero_is_zero ? ZERO_IS_ZERO : ZERO_IS_SUBNORMAL);
    side->set_ue8m0_last(taken.last_is_inf ? LAST_IS_INF : LAST_IS_NAN);
  };
  ends(options.qk_ends, contract.mutable_qk());
  ends(options.v_ends, contract.mutable_v());
  contract.mutable_qk()->set_scale_rule(ToProto(options.qk_scale));
  contract.mutable_v()->set_scale_rule(ToProto(options.v_scale));
  DecodeContract& decode = *contract.mutable_decode();
  decode.set_lse_base(options.lse_base_e ? DecodeContract::BASE_E
                                         : DecodeContract::BASE_2);
  decode.set_sink(options.sink_in_lse ? DecodeContract::SINK_IN_LSE
                                      : DecodeContract::SINK_NOT_IN_LSE);
  decode.set_empty_row(options.empty_plus_inf
                           ? DecodeContract::ZERO_AND_PLUS_INF
                           : DecodeContract::ZERO_AND_MINUS_INF);
  if (options.lengths_demanded) {
    decode.set_lengths_demand(DecodeContract::LENGTHS_DEMANDED);
  }
  SetArithmetic(options, *contract.mutable_arithmetic());
  return contract;
}

std::vector<CompiledDecode> BuiltinDecodes() {
  return {
      Compiled<kBuiltin>("builtin",
                         "this project's kernels, scales as computed"),
      Compiled<kLengthsDemanded>(
          "builtin:lengths-demanded",
          "builtin behind a host that demands sparse_mla_top_k_lens"),
      Compiled<kBf16Partials>("builtin:bf16-partials",
                              "decode with partial outputs in bf16"),
      Compiled<kE4m3>("builtin:e4m3",
                      "decode with queries and weights in E4M3"),
      Compiled<kE4m3TwoPass>(
          "builtin:e4m3-two-pass",
          "decode with queries and weights in E4M3, residuals included"),
      Compiled<kE4m3QkPow2>(
          "builtin:e4m3-qk-pow2",
          "e4m3 that takes the exponent of scales for the logits, and says so"),
      Compiled<kE4m3TwoPassQkPow2>(
          "builtin:e4m3-two-pass-qk-pow2",
          "e4m3-two-pass that takes the exponent of scales for the logits"),
      Compiled<kE4m3TwoPassVPow2>(
          "builtin:e4m3-two-pass-v-pow2",
          "e4m3-two-pass that takes the exponent of scales for the values"),
      Compiled<kE4m3TwoPassBothPow2>(
          "builtin:e4m3-two-pass-both-pow2",
          "e4m3-two-pass that takes the exponent of scales for both"),
      Compiled<kFlashInferArbitrary>(
          "builtin:flashinfer-arbitrary",
          "decode by FlashInfer's rules on sm_120 for arbitrary_fp32"),
      Compiled<kFlashInferPow2>(
          "builtin:flashinfer-pow2",
          "decode by FlashInfer's rules on sm_120 for pow2_fp32"),
      Compiled<kFlashMla>(
          "builtin:flashmla",
          "decode with scales rounded to bf16 and a natural LSE"),
  };
}

}  // namespace mlafuzz
