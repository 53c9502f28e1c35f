// From a target's call to a launch, on either backend, for the layouts beside
// the 656-byte row. Each refuses what its host checks refuse, does nothing
// where there is nothing to do, else launches.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_PAGE_CALLS_H_
#define MLAFUZZ_KERNELS_LAYOUTS_PAGE_CALLS_H_

#include <string>
#include <utility>

#include "kernels/kernel_calls.h"
#include "kernels/layouts/conventions.cuh"
#include "kernels/layouts/indexer_gather.cuh"
#include "kernels/layouts/page_checks.h"
#include "kernels/layouts/page_gather.cuh"
#include "kernels/layouts/page_writer.cuh"
#include "kernels/tensor_checks.h"

namespace mlafuzz {

// `kPow2`: scales are rounded up to powers of two where the layout has room for
// others.
template <class Policy, bool kPow2 = false>
CallResult CallPageWriter(const WriteArgs& args, const LaunchContext& context) {
  return WriteUnless(
      WhyRefusePageWrite(ShapeOf<typename Policy::Format>(), args), args,
      context, kPow2, kernels::LaunchPageWriter<Policy>);
}

template <class Policy>
CallResult CallPageGather(const GatherArgs& args,
                          const LaunchContext& context) {
  return GatherUnless(
      WhyRefusePageGather(ShapeOf<typename Policy::Format>(), args), args,
      context, kernels::LaunchPageGather<Policy>);
}

template <class Policy>
CallResult CallIndexerGather(const GatherArgs& args,
                             const LaunchContext& context) {
  if (std::string why =
          WhyRefuseIndexerGather(ShapeOf<typename Policy::Format>(), args);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::IndexerGatherParams params{};
  params.cache = As<const std::uint8_t>(args.cache);
  params.codes = As<std::uint8_t>(args.dst);
  params.scales = As<unsigned>(args.dst_scales);
  params.table = As<const std::int32_t>(args.block_table);
  params.starts = As<const std::int32_t>(args.workspace_starts);
  params.requests = args.block_table->shape[0];
  params.rows = args.dst->shape[0];
  params.codes_row_stride = args.dst->strides[0];
  params.table_row_stride = args.block_table->strides[0];
  params.page_stride = args.cache->strides[0];
  params.page_size = args.cache->shape[1];
  params.timing = TimingOf(context);
  if (params.rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(kernels::LaunchIndexerGather<Policy>(
      params, StreamOf(context), {context.schedule}));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_LAYOUTS_PAGE_CALLS_H_
