#include "kernels/decode/controls/controls.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/decode/checks.h"
#include "kernels/decode/controls/warp_decode.cuh"
#include "kernels/decode/decode.h"
#include "kernels/kernel_calls.h"
#include "kernels/simt/simt.h"

namespace mlafuzz {
namespace {

using kernels::WarpRules;

struct Backwards : WarpRules {
  static constexpr bool kBackwards = true;
};

struct Fma : WarpRules {
  static __device__ float MultiplyAdd(float a, float b, float c) {
    return fmaf(a, b, c);
  }
};

struct Blocks32 : WarpRules {
  static constexpr int kKeys = 32;
  static constexpr int kBlocksOfSplit = 16;
};

struct Blocks16 : Backwards {
  static constexpr int kKeys = 16;
  static constexpr int kBlocksOfSplit = 4;
};

struct OneSplit : WarpRules {
  static constexpr int kBlocksOfSplit = 0;
};

struct Fp32 : Fma {
  static __device__ float Value(float product) { return product; }
  static __device__ float Weight(float weight) { return weight; }
};

// 2^x = 2^n 2^f with n whole and |f| <= 1/2, 2^f by its series: the first term
// left out is below (ln 2 / 2)^8 / 8! = 2^-27.
struct SeriesExp2 : WarpRules {
  static __device__ float Exp2(float x) {
    if (!(x >= -160.0f)) return x < -160.0f ? 0.0f : x;
    const float n = rintf(x);
    const float t = (x - n) * 0.693147180559945309417f;
    float sum = 1.0f / 5040.0f;
    sum = sum * t + 1.0f / 720.0f;
    sum = sum * t + 1.0f / 120.0f;
    sum = sum * t + 1.0f / 24.0f;
    sum = sum * t + 1.0f / 6.0f;
    sum = sum * t + 0.5f;
    sum = sum * t + 1.0f;
    sum = sum * t + 1.0f;
    // In two steps, each of them a normal number: n is at least -160.
    const int half = static_cast<int>(n) / 2;
    const int rest = static_cast<int>(n) - half;
    return sum * PowerOf2(half) * PowerOf2(rest);
  }
  static __device__ float PowerOf2(int n) {
    return __uint_as_float(static_cast<unsigned>(n + 127) << 23);
  }
};
// Half an ulp of each of the last three operations, the errors of the earlier
// ones times |t| <= 0.35, those of t and of ln 2, and the series': below
// 6 * 2^-24.
constexpr double kSeriesError = 0x1p-21;

struct CodesInE4m3 : WarpRules {
  static constexpr int kKeys = 32;
  static constexpr bool kCodes = true;
  static constexpr bool kCodeWeights = true;
};

struct Bf16Scales : Backwards {
  static __device__ float Scale(float stored) {
    return kernels::Bf16ToFloat(kernels::FloatToBf16(stored));
  }
};

struct Undeclared : Fp32 {
  static constexpr int kKeys = 16;
  static constexpr int kBlocksOfSplit = 3;
};

template <class Rules>
CallResult CallWarpDecode(const DecodeArgs& args, const LaunchContext& context,
                          bool bf16_partials) {
  if (std::string why = WhyRefuseDecode(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::DecodeParams params = ToParams(args);
  if (params.queries == 0) return CallResult::Ok();
  params.bf16_partials = bf16_partials;
  params.lanes = params.width;
  kernels::SetWarpSplits<Rules>(params, args.splits);
  const std::int64_t outputs = params.queries * params.heads;
  const std::int64_t splits = outputs * params.splits;
  if (splits > INT32_MAX || outputs > INT32_MAX) {
    return CallResult::Error("more than 2^31 - 1 splits in one launch");
  }
  const auto count = static_cast<std::size_t>(splits);
  const ScratchBuffer partials(
      context, count * kernels::kLatent * (bf16_partials ? 2 : 4));
  const ScratchBuffer partial_lse(context, count * sizeof(float));
  if (partials.data() == nullptr || partial_lse.data() == nullptr) {
    return CallResult::Error("no memory for the splits' partials");
  }
  params.partials = partials.data();
  params.partial_lse = static_cast<float*>(partial_lse.data());
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(outputs));
  config.block = dim3(32);
  config.stream = StreamOf(context);
  config.schedule = {context.schedule};
  return ToCallResult(simt::launch(config, kernels::WarpDecode<Rules>, params));
}

template <class Rules, bool kBf16Partials = false>
CompiledDecode Control(const char* name, const char* what,
                       Contract (*contract)()) {
  return {name, what,
          [](const DecodeArgs& args, const LaunchContext& context) {
            return CallWarpDecode<Rules>(args, context, kBf16Partials);
          },
          contract};
}

Contract BuiltinDecode() { return DecodeContractOf({}); }

template <class Rules>
Contract WithBlocks() {
  Contract contract = BuiltinDecode();
  contract.mutable_arithmetic()->set_block(Rules::kKeys);
  contract.mutable_arithmetic()->set_blocks_per_split(Rules::kBlocksOfSplit);
  return contract;
}

}  // namespace

std::vector<CompiledDecode> DecodeControls() {
  return {
      Control<WarpRules>("control:decode-warp",
                         "right: decode with one warp a query and head",
                         BuiltinDecode),
      Control<Backwards>("control:decode-backwards",
                         "right: decode that adds from last to first",
                         BuiltinDecode),
      Control<Fma>("control:decode-fma",
                   "right: decode with fused multiply-adds", BuiltinDecode),
      Control<Blocks32>("control:decode-blocks-of-32",
                        "right: decode in blocks of 32 keys, 16 a split",
                        WithBlocks<Blocks32>),
      Control<Blocks16, true>("control:decode-blocks-of-16",
                              "right: decode in blocks of 16 keys, 4 a split, "
                              "with partials in bf16",
                              [] {
                                Contract contract = WithBlocks<Blocks16>();
                                contract.mutable_arithmetic()->set_partials(
                                    Arithmetic::PARTIALS_BF16);
                                return contract;
                              }),
      Control<OneSplit>("control:decode-one-split",
                        "right: decode that never splits, and does not say "
                        "how it does",
                        WithBlocks<OneSplit>),
      Control<Fp32>("control:decode-fp32",
                    "right: decode with values and weights in fp32",
                    [] {
                      Contract contract = BuiltinDecode();
                      Arithmetic& a = *contract.mutable_arithmetic();
                      a.set_dequantised(Arithmetic::DEQUANTISED_FP32);
                      a.set_weights(Arithmetic::WEIGHTS_FP32);
                      return contract;
                    }),
      Control<SeriesExp2>(
          "control:decode-series-exp2",
          "right: decode with powers of 2 by a series",
          [] {
            Contract contract = BuiltinDecode();
            contract.mutable_arithmetic()->set_exp2_relative_error(
                kSeriesError);
            return contract;
          }),
      Control<CodesInE4m3>("control:decode-codes-e4m3",
                           "right: decode of codes with weights in E4M3",
                           [] {
                             Contract contract = WithBlocks<CodesInE4m3>();
                             Arithmetic& a = *contract.mutable_arithmetic();
                             a.set_dequantised(Arithmetic::DEQUANTISED_CODES);
                             a.set_weights(Arithmetic::WEIGHTS_E4M3);
                             return contract;
                           }),
      Control<Bf16Scales>(
          "control:decode-bf16-scales",
          "right: decode with scales rounded to bf16",
          [] {
            Contract contract = BuiltinDecode();
            contract.mutable_qk()->set_scale_rule(ReaderSide::SCALE_BF16);
            contract.mutable_v()->set_scale_rule(ReaderSide::SCALE_BF16);
            return contract;
          }),
      Control<Undeclared>("control:decode-undeclared",
                          "right: decode that says nothing of its arithmetic",
                          [] {
                            Contract contract = BuiltinDecode();
                            contract.clear_arithmetic();
                            return contract;
                          }),
  };
}

}  // namespace mlafuzz
