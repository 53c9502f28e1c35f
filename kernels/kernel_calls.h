// From a target's call to a launch, on either backend: what all compiled-in
// kernels have in common.
#ifndef MLAFUZZ_KERNELS_KERNEL_CALLS_H_
#define MLAFUZZ_KERNELS_KERNEL_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "kernels/convert.cuh"
#include "kernels/gather.cuh"
#include "kernels/host_checks.h"
#include "kernels/simt/simt.h"
#include "kernels/target_set.h"
#include "kernels/writer.cuh"

namespace mlafuzz {

// The width rule of builtin's index conversion: none.
inline constexpr std::int64_t kBuiltinWidthMultiple = 1;

// The stream of a call.
inline simt::Stream StreamOf(const LaunchContext& context) {
  return static_cast<simt::Stream>(context.stream);
}

// What simt::Perturb() goes by in a call: of one schedule in four, on GPUs. On
// the host the schedule itself orders lanes.
inline std::uint64_t TimingOf(const LaunchContext& context) {
#ifdef __CUDACC__
  std::uint64_t x = context.schedule * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  return (x & 3) == 3 ? x : 0;
#else
  (void)context;
  return 0;
#endif
}

// How a launch ended, as the result of a call.
inline CallResult ToCallResult(const simt::LaunchResult& launch) {
  switch (launch.kind) {
    case simt::FaultKind::kNone:
      return CallResult::Ok();
    case simt::FaultKind::kBadConfiguration:
    case simt::FaultKind::kBackendError:
      return CallResult::Error(launch.message);
    default:
      return CallResult::Fault(launch.message);
  }
}

// Bytes for the length of one call: from the call's context, which has to give
// them on a device, else from the heap. Null data if there are none to be had.
class ScratchBuffer {
 public:
  ScratchBuffer(const LaunchContext& context, std::size_t bytes)
      : data_(context.scratch != nullptr
                  ? context.scratch(context.scratch_owner, bytes)
                  : ::operator new(bytes, std::nothrow)),
        own_(context.scratch == nullptr) {}
  ~ScratchBuffer() {
    if (own_) ::operator delete(data_);
  }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  bool own_;
};

// Each refuses what the host checks refuse, does nothing where there is nothing
// to do (an empty grid would be a launch error), else launches.

template <class Policy, bool kPow2Scale = false>
CallResult CallWriter(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::WriterParams params = ToParams(args);
  params.pow2_scale = kPow2Scale;
  params.timing = TimingOf(context);
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchWriter<Policy>(params, StreamOf(context),
                                                    {context.schedule}));
}

template <class Policy>
CallResult CallGather(const GatherArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseGather(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::GatherParams params = ToParams(args);
  params.timing = TimingOf(context);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchGather<Policy>(params, StreamOf(context),
                                                    {context.schedule}));
}

template <class Policy>
CallResult CallConvert(const ConvertArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchConvert<Policy>(params, StreamOf(context),
                                                     {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_KERNEL_CALLS_H_
