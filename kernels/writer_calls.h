// From a target's call to a launch of the writers that take rows with rope
// alone.
#ifndef MLAFUZZ_KERNELS_WRITER_CALLS_H_
#define MLAFUZZ_KERNELS_WRITER_CALLS_H_

#include <string>

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
  return WriteUnless(WhyRefuseRopeWrite(args), args, context,
                     /*pow2_scale=*/false, kernels::LaunchWriterBy16<Policy>);
}

// `kFp32`: takes fp32 values, else bf16.
template <class Policy, bool kPow2Scale = false, bool kFp32 = false>
CallResult CallFusedWriter(const WriteArgs& args,
                           const LaunchContext& context) {
  return WriteUnless(
      kFp32 ? WhyRefuseFp32RopeWrite(args) : WhyRefuseFusedWrite(args), args,
      context, kPow2Scale, kernels::LaunchFusedWriter<Policy>);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_WRITER_CALLS_H_
