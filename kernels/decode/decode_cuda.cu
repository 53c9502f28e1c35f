#include "kernels/decode/decode.cuh"
#include "kernels/decode/decode_cuda.h"

namespace mlafuzz {
namespace {

struct E4m3Policy : kernels::DecodePolicy {
  using Arithmetic = kernels::E4m3Arithmetic<1>;
};
struct E4m3TwoPassPolicy : kernels::DecodePolicy {
  using Arithmetic = kernels::E4m3Arithmetic<2>;
};

}  // namespace

simt::LaunchResult LaunchDecodeOnGpu(kernels::DecodeParams params,
                                     std::int64_t asked_splits,
                                     const DecodeOptions& options,
                                     void* stream) {
  SetRules(options, params);
  params.lanes = kernels::DecodePolicy::Lanes(params);
  kernels::SetSplits(params, asked_splits);
  const auto on = static_cast<simt::Stream>(stream);
  switch (options.arithmetic) {
    case DecodeArithmetic::kE4m3:
      return kernels::LaunchDecode<E4m3Policy>(params, on, {});
    case DecodeArithmetic::kE4m3TwoPass:
      return kernels::LaunchDecode<E4m3TwoPassPolicy>(params, on, {});
    case DecodeArithmetic::kBf16:
      break;
  }
  return kernels::LaunchDecode<kernels::DecodePolicy>(params, on, {});
}

}  // namespace mlafuzz
