// From a target's call to a launch of the gathers that take no tile scales.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_

#include <string>
#include <utility>

#include "kernels/kernel_calls.h"
#include "kernels/layouts/page_checks.h"
#include "kernels/layouts/row_gathers.cuh"

namespace mlafuzz {

// Refuses what WhyRefuseByteGather() does.
template <class Policy>
CallResult CallByteGather(const GatherArgs& args,
                          const LaunchContext& context) {
  if (std::string why =
          WhyRefuseByteGather(Policy::kLayout, Policy::kTokenBytes, args);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::GatherParams params = ToParams(args);
  params.timing = TimingOf(context);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(
      kernels::LaunchRowGather<Policy>(kernels::GatherBytes<Policy>, params,
                                       StreamOf(context), {context.schedule}));
}

// Refuses what WhyRefuseOneScaleGather() does; `kChecksRows`: rows that are
// not 576 bytes wide among it.
template <class Policy, bool kChecksRows = true>
CallResult CallOneScaleGather(const GatherArgs& args,
                              const LaunchContext& context) {
  if (std::string why = WhyRefuseOneScaleGather(args, kChecksRows);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::GatherParams params = ToParams(args);
  params.timing = TimingOf(context);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(
      kernels::LaunchRowGather<Policy>(kernels::GatherOneScale<Policy>, params,
                                       StreamOf(context), {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_
