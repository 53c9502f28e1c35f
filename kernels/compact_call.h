#ifndef MLAFUZZ_KERNELS_COMPACT_CALL_H_
#define MLAFUZZ_KERNELS_COMPACT_CALL_H_

#include <string>
#include <utility>

#include "kernels/compact.cuh"
#include "kernels/kernel_calls.h"

namespace mlafuzz {

// Refuses what CallConvert() does.
template <class Policy>
CallResult CallCompact(const ConvertArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const kernels::CompactParams params = {ToParams(args),
                                         args.block_table->shape[0]};
  if (params.convert.rows == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchCompact<Policy>(params, StreamOf(context),
                                                     {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_COMPACT_CALL_H_
