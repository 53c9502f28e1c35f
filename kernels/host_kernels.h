// From a target's call to a launch on the host backend: what all compiled-in
// kernels have in common.
#ifndef MLAFUZZ_KERNELS_HOST_KERNELS_H_
#define MLAFUZZ_KERNELS_HOST_KERNELS_H_

#include <cstdint>
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

// Each refuses what the host checks refuse, does nothing where there is nothing
// to do (an empty grid would be a launch error), else launches.

template <class Policy, bool kPow2Scale = false>
CallResult HostWrite(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::WriterParams params = ToParams(args);
  params.pow2_scale = kPow2Scale;
  if (params.tokens == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchWriter<Policy>(params, context.stream,
                                                    {context.schedule}));
}

template <class Policy>
CallResult HostGather(const GatherArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseGather(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::GatherParams params = ToParams(args);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchGather<Policy>(params, context.stream,
                                                    {context.schedule}));
}

template <class Policy>
CallResult HostConvert(const ConvertArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchConvert<Policy>(params, context.stream,
                                                     {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_HOST_KERNELS_H_
