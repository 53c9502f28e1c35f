// From a target's call to a launch of the writers that take rows with rope
// alone.
#ifndef MLAFUZZ_KERNELS_WRITER_CALLS_H_
#define MLAFUZZ_KERNELS_WRITER_CALLS_H_

#include <string>
#include <utility>

#include "kernels/fused_writer.cuh"
#include "kernels/kernel_calls.h"
#include "kernels/writer_by16.cuh"

namespace mlafuzz {

// Refuses what WhyRefuseWrite() does, and rows without rope.
inline std::string WhyRefuseRopeWrite(const WriteArgs& args) {
  std::string why = WhyRefuseWrite(args);
  if (why.empty() && (args.k_pe == nullptr || args.k_pe->shape[1] == 0)) {
    why = "pe_dim must be 64, got 0";
  }
  return why;
}

// What WhyRefuseFp32Write() does, and rows without rope.
inline std::string WhyRefuseFp32RopeWrite(const WriteArgs& args) {
  std::string why = WhyRefuseFp32Write(args);
  if (why.empty() && (args.k_pe == nullptr || args.k_pe->shape[1] == 0)) {
    why = "pe_dim must be 64, got 0";
  }
  return why;
}

// And fp16.
inline std::string WhyRefuseFusedWrite(const WriteArgs& args) {
  std::string why = WhyRefuseRopeWrite(args);
  if (why.empty() && ToParams(args).fp16) why = "kv_c must be bf16, got f16";
  return why;
}

template <class Policy>
CallResult CallWriterBy16(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseRopeWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::WriterParams params = ToParams(args);
  params.timing = TimingOf(context);
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchWriterBy16<Policy>(
      params, StreamOf(context), {context.schedule}));
}

// `kFp32`: takes fp32 values, else bf16.
template <class Policy, bool kPow2Scale = false, bool kFp32 = false>
CallResult CallFusedWriter(const WriteArgs& args,
                           const LaunchContext& context) {
  if (std::string why =
          kFp32 ? WhyRefuseFp32RopeWrite(args) : WhyRefuseFusedWrite(args);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::WriterParams params = ToParams(args);
  params.pow2_scale = kPow2Scale;
  params.timing = TimingOf(context);
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchFusedWriter<Policy>(
      params, StreamOf(context), {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_WRITER_CALLS_H_
