// From a target's call to a launch of the gathers that take no tile scales.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_

#include "kernels/kernel_calls.h"
#include "kernels/layouts/page_checks.h"
#include "kernels/layouts/row_gathers.cuh"

namespace mlafuzz {

// Refuses what WhyRefuseByteGather() does.
template <class Policy>
CallResult CallByteGather(const GatherArgs& args,
                          const LaunchContext& context) {
  return GatherUnless(
      WhyRefuseByteGather(Policy::kLayout, Policy::kTokenBytes, args), args,
      context, kernels::LaunchByteGather<Policy>);
}

// Refuses what WhyRefuseOneScaleGather() does; `kChecksRows`: rows that are
// not 576 bytes wide among it.
template <class Policy, bool kChecksRows = true>
CallResult CallOneScaleGather(const GatherArgs& args,
                              const LaunchContext& context) {
  return GatherUnless(WhyRefuseOneScaleGather(args, kChecksRows), args, context,
                      kernels::LaunchOneScaleGather<Policy>);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_ROW_GATHER_CALLS_H_
